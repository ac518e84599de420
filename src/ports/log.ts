/** Fields first: `log.info({ pod, ip, ms }, 'address bound')`. No secret and no snapshot ever goes in. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
