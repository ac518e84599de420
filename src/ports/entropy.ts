/** The only source of chance, so that a run can be repeated from its seed. */
export interface Entropy {
  /** At most 64 ASCII characters, unique; names a cloud call or a request. */
  token(): string;
  /** Uniform in [0, 1). */
  fraction(): number;
}
