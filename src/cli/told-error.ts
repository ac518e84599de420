/** What a command that failed says of it, and with which exit code it ends: a sentence, never a stack. */
import { EnactorError, type ErrorCode } from '../core/errors.ts';
import { CommandError, EXIT } from './exit-codes.ts';

/** Who was asked does not answer, or there is nothing to ask him with. */
const CANNOT: readonly ErrorCode[] = ['credentials', 'cloudUnreachable', 'metadata'];

export function toldError(error: unknown): { readonly says: string; readonly exitCode: number } {
  if (error instanceof CommandError) return { says: error.message, exitCode: error.exitCode };
  if (error instanceof EnactorError)
    return { says: error.detail, exitCode: CANNOT.includes(error.code) ? EXIT.cannot : EXIT.failed };
  // What the system says names the file or the peer.
  if (error instanceof Error && 'code' in error) return { says: error.message, exitCode: EXIT.failed };
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return { says: `a fault of this program: ${what}${placeOf(error)}`, exitCode: EXIT.failed };
}

/** Where it was thrown, for whoever is told of it. */
function placeOf(error: unknown): string {
  const [, place] = /\n\s+at (.*)/.exec((error instanceof Error && error.stack) || '') ?? [];
  return place === undefined ? '' : ` (at ${place.replace(/file:\/\/\S*\//, '')})`;
}
