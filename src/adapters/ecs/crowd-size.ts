/** How many nodes want addresses at this moment: asked when somebody wants to know, and known for a while. */
export type AskCrowd = (signal: AbortSignal) => Promise<number | null>;

export class CrowdSize {
  readonly #ask: AskCrowd | undefined;
  readonly #nowMs: () => number;
  readonly #knownMs: number;
  #known: { readonly nodes: number | null; readonly atMs: number } = { nodes: null, atMs: -Infinity };
  #asking: Promise<void> | null = null;

  /** @param ask never rejects; null: nobody knows */
  constructor(ask: AskCrowd | undefined, nowMs: () => number, knownMs: number) {
    this.#ask = ask;
    this.#nowMs = nowMs;
    this.#knownMs = knownMs;
  }

  /** False where there is nobody to ask. */
  get asks(): boolean {
    return this.#ask !== undefined;
  }

  /** As it was told last. */
  get nodes(): number | null {
    return this.#known.nodes;
  }

  /** Resolves to what is known, once that is no older than it may be. Never rejects. */
  async told(): Promise<number | null> {
    if (this.#ask !== undefined && this.#nowMs() - this.#known.atMs >= this.#knownMs) {
      // Whoever is given up does not take the answer from the others.
      this.#asking ??= this.#ask(new AbortController().signal).then((nodes) => {
        this.#asking = null;
        this.#known = { nodes, atMs: this.#nowMs() };
      });
      await this.#asking;
    }
    return this.#known.nodes;
  }
}
