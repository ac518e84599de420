/** What a command of `enactor` is to main.ts: something that adds itself to the program, and tells its exit code when it has run. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { DEBUG_SOCKET } from './debug-socket.ts';

/** Says with which code the process is to end. Sockets are left alone until then, so that what was written goes out whole. */
export type Done = (exitCode: number) => void;

/** Adds one command, or a family of them, to `enactor`. */
export type AddCommand = (enactor: Command, done: Done) => void;

export const OUTPUT_FORMS = ['text', 'json', 'yaml'] as const;
/** `text` is for people and may change; `json` and `yaml` are the same data for programs. */
export type OutputForm = (typeof OUTPUT_FORMS)[number];

export const outputOption = (): Option =>
  new Option('-o, --output <form>', 'how to print it').choices(OUTPUT_FORMS).default('text');

export const debugSocketOption = (): Option =>
  new Option('--debug-socket <path>', 'where the daemon answers').default(DEBUG_SOCKET);

export const metadataUrlOption = (): Option =>
  new Option('--metadata-url <url>', 'the metadata service').default('http://100.100.100.200').argParser((text) => {
    if (URL.canParse(text) && /^https?:/.test(text)) return text;
    throw new InvalidArgumentError('a URL, such as http://100.100.100.200.');
  });

/** Of an option or argument: a whole number from 1 to `most`. */
export function countTo(most: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (Number.isInteger(value) && value >= 1 && value <= most) return value;
    throw new InvalidArgumentError(`a number from 1 to ${most}.`);
  };
}

export const examples = (...lines: readonly string[]): string =>
  `\nExample${lines.length === 1 ? '' : 's'}:\n${lines.map((line) => `  ${line}`).join('\n')}`;
