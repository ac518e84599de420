/**
 * Given to a daemon's node by `--import`: SIGKILL before or after its nth synced write of the database. `?nth=3&when=before`.
 *
 * The product knows nothing of it: it stands between the daemon and LevelDB, where a power cut would.
 */
import { ClassicLevel } from 'classic-level';

const query = new URL(import.meta.url).searchParams;
let left = Number(query.get('nth'));
const before = query.get('when') === 'before';
const write = ClassicLevel.prototype._batch;

ClassicLevel.prototype._batch = async function (operations, options) {
  if (!options.sync) return Reflect.apply(write, this, [operations, options]);
  left -= 1;
  const now = left === 0;
  if (now && before) process.kill(process.pid, 'SIGKILL');
  const answer = await Reflect.apply(write, this, [operations, options]);
  if (now) process.kill(process.pid, 'SIGKILL');
  return answer;
};
