/** What a drawing of the lab depends on besides the lab: the terminal, and who reads it. */
import type { Paint } from './paint.ts';

export type DrawOptions = {
  readonly columns: number;
  readonly rows: number;
  readonly paint: Paint;
  /** null: not known to who draws. */
  readonly upMs: number | null;
  /** How this machine let us in: as root, or through a user namespace; null: not known. */
  readonly rootless: boolean | null;
  /** What happened last, the latest at the end. */
  readonly recent: readonly string[];
  /** The command that a reader can paste, such as `node dist/enactor.js`. */
  readonly command: string;
  /** Whether `ip` can be offered to be run inside a pod. */
  readonly hasIp: boolean;
};
