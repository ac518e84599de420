import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** Whether a shell of this user would find the program; what is offered to be pasted has to run. */
export function hasProgram(name: string, path = process.env.PATH ?? ''): boolean {
  return path.split(delimiter).some((dir) => dir !== '' && existsSync(join(dir, name)));
}
