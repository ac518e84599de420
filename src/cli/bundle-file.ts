/** A support bundle as a file: what is wrong with one is told with its name, and the line where it has one. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { parseBundle } from '../core/support-bundle.ts';
import { CommandError, EXIT } from './exit-codes.ts';
import type { Bundle } from './support.ts';

const GZIP = 0x1f;
const PARTS = ['takenAtMs', 'life', 'report', 'inputs', 'whys'] as const;

/** Throws CommandError, 3. */
export function readBundle(file: string): Bundle {
  const cannot = (why: string) => new CommandError(EXIT.cannot, `${file}: ${why}`);
  const bytes = attempt(
    () => readFileSync(file),
    (error) => cannot(error.code === 'ENOENT' ? 'there is no such file' : `it cannot be read: ${error.message}`),
  );
  if (bytes.length === 0) throw cannot('it is empty');
  const text = attempt(
    () => (bytes[0] === GZIP ? gunzipSync(bytes) : bytes).toString('utf8'),
    (error) =>
      cannot(
        error.message === 'unexpected end of file'
          ? 'it is cut short: its gzip has no end'
          : `it is no whole gzip: ${error.message}`,
      ),
  );
  const bundle = attempt(
    () => parseBundle(text) as unknown as Bundle,
    (error) =>
      cannot(
        error instanceof SyntaxError
          ? `line ${lineOf(text, error.message)}: no JSON: ${error.message}`
          : `it ${error.message}`,
      ),
  );
  const lacking = PARTS.filter((part) => bundle[part] === undefined);
  if (lacking.length > 0) throw cannot(`it is no whole support bundle: it lacks ${lacking.join(', ')}`);
  return bundle;
}

function attempt<T>(work: () => T, told: (error: NodeJS.ErrnoException) => CommandError): T {
  try {
    return work();
  } catch (error) {
    throw told(error as NodeJS.ErrnoException);
  }
}

/** V8 names the position; where it names none, the text ended too early. */
function lineOf(text: string, message: string): number {
  const [, position] = /position (\d+)/.exec(message) ?? [];
  return text.slice(0, position === undefined ? text.length : Number(position)).split('\n').length;
}
