/**
 * Port Log on pino: JSON lines on standard output, written before the call returns, so that the last line before an exit is there.
 *
 * Whatever is named like a secret is masked at any depth that our fields have; the configuration itself is masked by its owner
 * (maskedConfig) as well.
 */
import { writeSync } from 'node:fs';
import { pino } from 'pino';
import type { LogLevel } from '../../core/log-level.ts';
import type { Log } from '../../ports/log.ts';

const SECRETS = [
  'access_secret',
  'access_key',
  'accessKeySecret',
  'accessKeyId',
  'securityToken',
  'authorization',
  'Authorization',
];

export type RootLog = Log & {
  /** A log that says which part speaks. */
  part(name: string): Log;
  /** From now on, for all parts. */
  setLevel(level: LogLevel): void;
};

/** Throws nothing: a full or closed standard output must never stop a pod. */
export function jsonLog(
  program: string,
  level: LogLevel,
  write: (line: string) => void = writeStandardOutput,
): RootLog {
  const root = pino(
    {
      level,
      base: { program },
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '******' },
    },
    { write },
  );
  const all = [root];
  return Object.assign(logOver(root), {
    part: (name: string) => {
      const child = root.child({ part: name });
      all.push(child);
      return logOver(child);
    },
    setLevel: (to: LogLevel) => {
      for (const one of all) one.level = to;
    },
  });
}

function logOver(to: Log): Log {
  return {
    debug: (fields, message) => to.debug(fields, message),
    info: (fields, message) => to.info(fields, message),
    warn: (fields, message) => to.warn(fields, message),
    error: (fields, message) => to.error(fields, message),
  };
}

/** At once, and never throws. */
export function writeStandardOutput(line: string): void {
  try {
    writeSync(1, line);
  } catch {
    // EAGAIN of a full pipe, EPIPE of a gone reader, ENOSPC of a full disk: a lost line is the lesser harm.
  }
}
