/** What the exit code of `enactor` says. */
export const EXIT = {
  ok: 0,
  /** The check failed, or the thing asked for did not happen. */
  failed: 1,
  /** The command line cannot be. */
  usage: 2,
  /** This machine does not let us: no namespaces, no lab runs here, or no daemon answers. */
  cannot: 3,
  /** Interrupted, as shells say it. */
  interrupted: 130,
  /** Whoever read our output had enough before its end. */
  brokenPipe: 141,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** Ends the command with a sentence for its user instead of a stack. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
  readonly exitCode: number;

  constructor(exitCode: number, message: string) {
    super(message);
    this.exitCode = exitCode;
  }
}
