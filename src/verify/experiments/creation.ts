/** Create: its answer, its token, its defaults, and when Describe knows of it. The ENI is what all other experiments use. */
import { randomUUID } from 'node:crypto';
import type { Bench } from '../bench.ts';
import { notTried, toldApart } from '../finding.ts';
import type { SeenEni } from '../raw-cloud.ts';
import { refusal } from './refusal.ts';

const UNKNOWN_VSWITCH = 'vsw-enactor0verify0none';

/** Throws Error with the cloud's words when no ENI can be made: then there is nothing to verify with. */
export async function creation(bench: Bench): Promise<SeenEni> {
  const { raw, plan } = bench;
  const { vSwitchId, securityGroupId, tags } = plan;
  const clientToken = randomUUID();
  const wanted = { vSwitchId, securityGroupId, tags, clientToken, description: 'enactor verify-cloud' };

  bench.doing('an ENI is made');
  const made = await raw.create(wanted);
  if (!made.ok) throw new Error(`no ENI can be made in ${vSwitchId}: ${made.code}: ${made.message}`);
  const eni = made.value;
  bench.callTimed('createCallMs', made.ms);
  let looks = 0;
  let visibleMs: number | null = null;
  let shown: SeenEni | null = null;
  const answered = performance.now();
  const availableMs = await bench.until(async () => {
    looks += 1;
    const askedMs = performance.now();
    shown = await bench.eni(eni.eniId);
    if (shown !== null) visibleMs ??= looks === 1 ? 0 : (askedMs - answered) * plan.speed;
    return shown !== null && (eni.status === 'Available' || shown.status === 'Available');
  });
  bench.awaited('describeLagMs', visibleMs);
  bench.awaited('creatingMs', eni.status === 'Available' ? 0 : availableMs);

  bench.doing('the same request again');
  const again = await raw.create(wanted);
  const same = again.ok ? again.value.eniId === eni.eniId : null;
  bench.found(
    toldApart(
      'sameToken',
      'the same request with the same ClientToken makes no second ENI',
      'the same ENI',
      same === null ? refusalOf(again) : same ? 'the same ENI' : 'a second ENI',
      null,
    ),
  );
  const other = await raw.create({ ...wanted, description: 'enactor verify-cloud, another' });
  bench.found(
    refusal('spentToken', 'another request with a used ClientToken is refused', ['IdempotentParameterMismatch'], other),
  );
  const nowhere = await raw.create({ ...wanted, clientToken: randomUUID(), vSwitchId: UNKNOWN_VSWITCH });
  bench.found(
    refusal('unknownVSwitch', 'an unknown vSwitch is refused by name', ['InvalidVSwitchId.NotFound'], nowhere),
  );

  const seen = shown as SeenEni | null;
  const assumed = 'DeleteOnRelease is true unless told otherwise';
  bench.found(
    seen?.deleteOnRelease === undefined
      ? notTried('deleteOnRelease', assumed, 'Describe does not tell')
      : toldApart('deleteOnRelease', assumed, true, seen.deleteOnRelease, null),
  );
  bench.found(
    toldApart(
      'unattachedInstanceId',
      'InstanceId of an ENI that is not attached is absent or empty',
      'absent or empty',
      seen?.instanceId ? `“${seen.instanceId}”` : 'absent or empty',
      null,
    ),
  );
  return eni;
}

const refusalOf = (reply: { readonly ok: boolean; readonly code?: string }): string => `refused: ${reply.code}`;
