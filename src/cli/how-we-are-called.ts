import { relative } from 'node:path';

/** The command that works when pasted in the same directory. */
export function howWeAreCalled(): string {
  const program = relative(process.cwd(), process.argv[1] ?? 'enactor');
  return /\.[jt]s$/.test(program) ? `node ${program}` : program;
}
