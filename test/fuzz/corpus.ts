/** Inputs that are kept: one in base64 a line, one file for each target in test/fuzz/corpus. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const FOLDER = 'test/fuzz/corpus';
/** What lies in the tree is read by every short run. */
const LINES_MAX = 400;

const pathOf = (target: string): string => `${FOLDER}/${target}.txt`;

export function corpusOf(target: string): readonly Buffer[] {
  if (!existsSync(pathOf(target))) return [];
  const lines = readFileSync(pathOf(target), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => Buffer.from(line, 'base64'));
}

/** Adds what is not there yet, up to the bound. */
export function keep(target: string, inputs: readonly Buffer[]): void {
  const all = [...new Set([...corpusOf(target), ...inputs].map((data) => data.toString('base64')))];
  if (all.length > 0) writeFileSync(pathOf(target), `${all.slice(0, LINES_MAX).join('\n')}\n`);
}
