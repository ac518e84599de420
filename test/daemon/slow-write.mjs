/**
 * Given to a daemon's node by `--import`: while the file `SLOW` exists each synced write of the database takes `ms` longer. `?ms=1500&while=PATH`.
 *
 * The product knows nothing of it: it stands between the daemon and LevelDB, where a disk that stalls would.
 */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { ClassicLevel } from 'classic-level';

const query = new URL(import.meta.url).searchParams;
const write = ClassicLevel.prototype._batch;

ClassicLevel.prototype._batch = async function (operations, options) {
  if (options.sync && existsSync(query.get('while'))) await sleep(Number(query.get('ms')));
  return Reflect.apply(write, this, [operations, options]);
};
