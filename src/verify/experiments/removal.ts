/** Delete: how long it takes, and what is said of an ENI that is gone. */
import type { Bench } from '../bench.ts';
import type { SeenEni } from '../raw-cloud.ts';
import { refusal } from './refusal.ts';

export async function removal(bench: Bench, eni: SeenEni): Promise<void> {
  const { raw } = bench;
  const { eniId } = eni;
  bench.doing('the ENI is deleted');
  const removed = await raw.remove(eniId);
  if (!removed.ok) return bench.found(refusal('delete', 'an ENI that is Available can be deleted', [], removed));
  bench.callTimed('deleteCallMs', removed.ms);
  const goneMs = await bench.until(async () => (await bench.eni(eniId)) === null);
  bench.awaited('deletingMs', goneMs);
  if (goneMs === null) return;
  const again = await raw.remove(eniId);
  bench.found(
    refusal('deleteGone', 'Delete of an ENI that is gone is refused by name', ['InvalidEniId.NotFound'], again),
  );
}
