/** Assign and Unassign on an ENI that is not attached: lag, conflicts, what is given again, and what is refused. */
import { randomUUID } from 'node:crypto';
import type { Bench } from '../bench.ts';
import { notTried, toldApart } from '../finding.ts';
import type { SeenEni } from '../raw-cloud.ts';
import { refusal } from './refusal.ts';

const SOME = 3;
const CONFLICT_TRIES = 3;
const REUSE_TRIES = 3;
const UNKNOWN_ENI = 'eni-enactor0verify0none';
const CONFLICTS = ['Operation.Conflict', 'OperationConflict'];

export async function addresses(bench: Bench, eni: SeenEni): Promise<void> {
  const { raw, plan } = bench;
  const { eniId } = eni;
  bench.doing('addresses are assigned and taken back');

  const before = await raw.freeAddresses(plan.vSwitchId);
  const clientToken = randomUUID();
  const assigned = await raw.assign(eniId, SOME, clientToken);
  if (!assigned.ok) {
    bench.found(refusal('assign', 'an ENI that is Available takes addresses', [], assigned));
    return;
  }
  bench.callTimed('assignCallMs', assigned.ms);
  const ips = assigned.value;
  const [describeLagMs, freeCountMs] = await Promise.all([
    bench.until(async () => has(await bench.eni(eniId), ips)),
    counted(bench, before.ok ? before.value : null),
  ]);
  bench.awaited('describeLagMs', describeLagMs);
  // Others give back too: a count that never comes proves nothing.
  if (freeCountMs !== null) bench.awaited('freeCountMs', freeCountMs);
  bench.found(
    toldApart(
      'newOnly',
      'Assign answers with the new addresses alone, as many as asked for',
      `${SOME} addresses`,
      `${ips.length} addresses${ips.some((ip) => eni.ipv4.includes(ip)) ? ', older ones among them' : ''}`,
      null,
    ),
  );
  const again = await raw.assign(eniId, SOME, clientToken);
  bench.found(
    toldApart(
      'sameAssignToken',
      'the same Assign with the same ClientToken gives no more addresses',
      'the same addresses',
      again.ok ? (sameSet(again.value, ips) ? 'the same addresses' : 'others') : `refused: ${again.code}`,
      null,
    ),
  );
  if (again.ok && !sameSet(again.value, ips)) await raw.unassign(eniId, again.value);

  await conflicts(bench, eniId);
  await takenBack(bench, eni, ips);

  const nobody = await raw.assign(UNKNOWN_ENI, 1);
  bench.found(refusal('unknownEni', 'Assign to an unknown ENI is refused by name', ['InvalidEniId.NotFound'], nobody));
  await scarce(bench);
}

/** How long until the vSwitch's own count shows what was taken. */
async function counted(bench: Bench, before: number | null): Promise<number | null> {
  if (before === null) return null;
  return bench.until(async () => {
    const now = await bench.raw.freeAddresses(bench.plan.vSwitchId);
    return now.ok && now.value !== null && now.value <= before - SOME;
  });
}

/** One round may just miss the moment: several do not. */
async function conflicts(bench: Bench, eniId: string): Promise<void> {
  const assumed = 'two Assigns to one ENI at a time: one is refused (Operation.Conflict)';
  let met = false;
  for (let round = 0; round < CONFLICT_TRIES && !met; round += 1) {
    const replies = await Promise.all([bench.raw.assign(eniId, 1), bench.raw.assign(eniId, 1)]);
    met = replies.some((reply) => !reply.ok && CONFLICTS.includes(reply.code));
    const odd = replies.find((reply) => !reply.ok && !CONFLICTS.includes(reply.code));
    const got = replies.flatMap((reply) => (reply.ok ? reply.value : []));
    if (got.length > 0) await bench.raw.unassign(eniId, got);
    if (odd !== undefined && !odd.ok) return bench.found(notTried('conflicts', assumed, `refused: ${odd.code}`));
  }
  bench.found(
    toldApart('conflicts', assumed, true, met, { conflicts: met, delays: {} }, (one) =>
      one ? 'one is refused' : 'both are carried out',
    ),
  );
}

async function takenBack(bench: Bench, eni: SeenEni, ips: readonly string[]): Promise<void> {
  const { raw } = bench;
  const { eniId } = eni;
  const gone = await raw.unassign(eniId, ips);
  if (!gone.ok) return bench.found(refusal('unassign', 'addresses can be taken back', [], gone));
  bench.callTimed('unassignCallMs', gone.ms);
  bench.awaited('describeLagMs', await bench.until(async () => !hasAny(await bench.eni(eniId), ips)));
  const twice = await raw.unassign(eniId, ips.slice(0, 1));
  bench.found(
    refusal('unassignTwice', 'an address that is not the ENI’s is refused', ['InvalidIp.IpUnassigned'], twice),
  );
  const primary = await raw.unassign(eniId, eni.ipv4.slice(0, 1));
  bench.found(refusal('unassignPrimary', 'the primary address cannot be taken', ['InvalidIp.IpUnassigned'], primary));
  const alike: boolean[] = [];
  for (let round = 0; round < REUSE_TRIES; round += 1) {
    const one = await raw.assign(eniId, 1);
    if (!one.ok || (await raw.unassign(eniId, one.value)).ok === false) break;
    const next = await raw.assign(eniId, 1);
    if (!next.ok) break;
    alike.push(sameSet(one.value, next.value));
    await raw.unassign(eniId, next.value);
  }
  const assumed = 'an address that was taken back is not given again at once';
  if (alike.length < REUSE_TRIES) return bench.found(notTried('reuse', assumed, 'not every Assign worked'));
  const reuse = alike.some(Boolean) ? 'soon' : 'late';
  bench.found(
    toldApart<'late' | 'soon'>('reuse', assumed, 'late', reuse, { reuse, delays: {} }, (one) =>
      one === 'soon' ? 'it came again at once' : `not within ${REUSE_TRIES} tries`,
    ),
  );
}

/** More than a vSwitch has: needs one that is nearly empty. */
async function scarce(bench: Bench): Promise<void> {
  const { raw, plan } = bench;
  const name = 'shortAssigns';
  const assumed = 'an Assign for more than the vSwitch has is refused as a whole (InvalidVSwitchId.IpNotEnough)';
  const { scarceVSwitchId: vSwitchId } = plan;
  if (vSwitchId === null) return bench.found(notTried(name, assumed, 'no vSwitch with few addresses was named'));
  const left = await raw.freeAddresses(vSwitchId);
  if (!left.ok || left.value === null || left.value < 2 || left.value > SCARCE_MAX) {
    const has = left.ok ? `${left.value ?? 'an unknown number of'} addresses` : `refused: ${left.code}`;
    return bench.found(notTried(name, assumed, `${vSwitchId} has ${has}: 2 to ${SCARCE_MAX} are needed`));
  }
  const { securityGroupId, tags } = plan;
  const wanted = { vSwitchId, securityGroupId, tags, description: 'enactor verify-cloud, scarce' };
  const made = await raw.create({ ...wanted, clientToken: randomUUID() });
  if (!made.ok) return bench.found(notTried(name, assumed, `no ENI there: ${made.code}`));
  await bench.until(async () => (await bench.eni(made.value.eniId))?.status === 'Available');
  const reply = await raw.assign(made.value.eniId, left.value + 1);
  const short = reply.ok;
  if (!short && reply.code !== 'InvalidVSwitchId.IpNotEnough')
    return bench.found(refusal(name, assumed, ['InvalidVSwitchId.IpNotEnough'], reply));
  bench.found(
    toldApart(name, assumed, false, short, { shortAssigns: short, delays: {} }, (one) =>
      one ? `${reply.ok ? reply.value.length : 0} of ${(left.value ?? 0) + 1} were given` : 'refused as a whole',
    ),
  );
}

/** An ENI that is not attached takes 49 beside its primary one. */
const SCARCE_MAX = 40;

const has = (eni: SeenEni | null, ips: readonly string[]): boolean => ips.every((ip) => eni?.ipv4.includes(ip));
const hasAny = (eni: SeenEni | null, ips: readonly string[]): boolean => ips.some((ip) => eni?.ipv4.includes(ip));
const sameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((ip) => other.includes(ip));
