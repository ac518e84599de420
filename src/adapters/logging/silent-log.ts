import type { Log } from '../../ports/log.ts';

/** For whoever has nothing to say: tests, and tools that report in another way. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
