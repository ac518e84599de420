/**
 * The daemon with a machine's clock that a test sets: by so many milliseconds as `clock` beside its data directory says, looked at again
 * and again. A module of its own, since it has to be there before the daemon's first reading.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const LOOK_MS = 10;
const { Date: RealDate } = globalThis;
const dataDir = process.argv[process.argv.indexOf('--data-dir') + 1] ?? '';
const path = join(dirname(dataDir), 'clock');
let setByMs = 0;
const look = () => {
  try {
    setByMs = Number(readFileSync(path, 'utf8'));
  } catch {
    setByMs = 0;
  }
};
look();
setInterval(look, LOOK_MS).unref();

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + setByMs);
    else super(...given);
  }

  static now() {
    return RealDate.now() + setByMs;
  }
};

await import(new URL('../../dist/enactord.js', import.meta.url));
