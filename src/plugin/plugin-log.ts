/**
 * Lines for people: to the configured file, and to stderr when `debug` is set; never to stdout, which is the runtime's.
 * A log that cannot be written (full disk, read-only, closed stderr) is given up in silence: it must not fail a pod.
 */
import { appendFileSync, writeSync } from 'node:fs';

const STDERR = 2;

export type PluginLog = {
  readonly debug: (fields: object, message: string) => void;
  readonly warn: (fields: object, message: string) => void;
};

export type LogTarget = { readonly logFile: string | null; readonly debug: boolean };

export const silentPluginLog: PluginLog = { debug: () => {}, warn: () => {} };

export function pluginLog(target: LogTarget, nowMs: () => number): PluginLog {
  const write = (level: string, fields: object, message: string): void => {
    const line = `${JSON.stringify({ level, time: nowMs(), ...fields, msg: message })}\n`;
    if (target.logFile !== null) quietly(appendTo(target.logFile, line));
    if (target.debug) quietly(() => writeSync(STDERR, line));
  };
  return {
    debug: (fields, message) => {
      if (target.debug) write('debug', fields, message);
    },
    warn: (fields, message) => write('warn', fields, message),
  };
}

function appendTo(file: string, line: string): () => void {
  return () => appendFileSync(file, line, { mode: 0o600 });
}

function quietly(work: () => unknown): void {
  try {
    work();
  } catch {
    // Nobody is left to tell.
  }
}
