/**
 * What is checked after every scenario: the cases' I1 to I5, and I7 as far as the actors go. I6 and I8 are about the plugin and are
 * asserted where it runs.
 */
import type { Test } from 'tap';
import { halvesOf } from '../../src/core/address.ts';
import { eventually } from '../actors/one-node.ts';
import { INSTANCE, PERIOD_MS, type Rig } from './rig.ts';
import { atLeast } from './speed.ts';

/** Below this two periods would be shorter than a hiccup of the machine. */
const PERIOD_FLOOR_MS = 150;
const REST_WITHIN_MS = 60_000;
const REST_FLOOR_MS = 12_000;

export const periodMs = (): number => atLeast(PERIOD_FLOOR_MS, PERIOD_MS);
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** I1 and I2, now. An address that is known to be gone (`invalid`) is told as such instead. */
export function checkLeases(t: Test, lab: Rig, comment = ''): void {
  const { leases, enis } = lab.report();
  const ips = leases.flatMap((lease) => halvesOf(lease.grant.address));
  t.equal(new Set(ips).size, ips.length, `I1: no address has two leases ${comment}`);
  const invalid = new Set(
    enis.flatMap((eni) => eni.addresses.filter((one) => one.state === 'invalid').map((one) => one.ipv4)),
  );
  const truth = lab.truth();
  const lies = leases
    .filter((lease) => !invalid.has(lease.grant.address.ipv4))
    .filter((lease) => !truth.some((eni) => on(eni, lease.grant.eni.eniId, halvesOf(lease.grant.address))))
    .map((lease) => lease.grant);
  t.strictSame(lies, [], `I2: every leased address is on the ENI told ${comment}`);
}

type Eni = ReturnType<Rig['truth']>[number];
const on = (eni: Eni, eniId: string, ips: readonly string[]): boolean =>
  eni.eniId === eniId &&
  eni.instanceId === INSTANCE &&
  eni.status === 'InUse' &&
  ips.every((ip) => eni.ipv4.includes(ip) || eni.ipv6.includes(ip));

/** Waits until nothing has been asked of the cloud for two periods, then I1 to I4 and I7, and that it stays so for `periods` more. */
export async function checkRest(t: Test, lab: Rig, comment = '', periods = 2): Promise<void> {
  let seq = lab.lastSeq();
  let sinceMs = Date.now();
  const quiet = (): boolean => {
    // A half is given back at a quiet look, which comes by the ENI's own clock.
    const halves = lab.report().enis.some((eni) => (eni.halves ?? []).length > 0);
    if (lab.mutations(seq).length > 0 || halves || busy(lab)) {
      seq = lab.lastSeq();
      sinceMs = Date.now();
    }
    return Date.now() - sinceMs > 2 * periodMs();
  };
  await eventually(`rest ${comment}`, quiet, atLeast(REST_FLOOR_MS, REST_WITHIN_MS));
  seq = lab.lastSeq();
  await sleep(periods * periodMs());
  t.strictSame(lab.mutations(seq), [], `I3: no call changes anything at rest ${comment}`);
  checkLeases(t, lab, comment);
  const { idle, bound, cooling, reserved } = lab.counts();
  const ours = lab.truth().filter((eni) => eni.tags.creator === 'enactor');
  const real = ours.reduce((sum, eni) => sum + eni.ipv4.length, 0);
  const foreign = lab.truth().filter((eni) => eni.tags.creator !== 'enactor' && eni.instanceId === INSTANCE);
  const borrowed = foreign.reduce((sum, eni) => sum + eni.ipv4.length, 0);
  t.equal(real + borrowed, idle + bound + cooling + reserved, `I3: the truth has what the books say ${comment}`);
  const pairs = lab.report().enis.flatMap((eni) => eni.addresses.flatMap(({ ipv6 }) => ipv6 ?? []));
  const real6 = ours.flatMap((eni) => eni.ipv6);
  t.strictSame([...real6].sort(), pairs.sort(), `I3: and IPv6 addresses only as halves of pairs ${comment}`);
  const halves = lab.report().enis.flatMap((eni) => eni.halves ?? []);
  t.strictSame(halves, [], `I3: no half is left ${comment}`);
  const { offered, leaving } = lab.counts();
  t.strictSame({ offered, leaving }, { offered: 0, leaving: 0 }, `no promise and no departure is left ${comment}`);
  t.strictSame(lab.report().waiting, [], `no request is left ${comment}`);
  t.strictSame(
    ours.filter((eni) => eni.instanceId !== INSTANCE || eni.status !== 'InUse').map((eni) => eni.eniId),
    [],
    `I4: no ENI of ours is left unattached ${comment}`,
  );
  t.match(lab.report().state, /serving/, `I7: the node serves ${comment}`);
  t.notMatch(JSON.stringify(lab.lines), /lab-access-key-secret/, `I7: no secret is logged ${comment}`);
}

function busy(lab: Rig): boolean {
  const { offered, leaving, cooling } = lab.counts();
  const { enis, waiting } = lab.report();
  return offered + leaving + cooling + waiting.length > 0 || enis.some((eni) => !eni.state.startsWith('inUse'));
}

/** I5: takes what is not ours, and answers with the check that it is still the same. */
export function watchForeign(lab: Rig): (t: Test) => void {
  const foreign = () =>
    lab.cloud.model
      .truth(Date.now())
      .enis.filter((eni) => eni.type === 'Primary' || eni.tags.creator !== 'enactor')
      .map(({ eniId, status, instanceId, ipv4, ipv6, tags, securityGroupIds }) => ({
        ...{ eniId, status, instanceId, ipv4, ipv6, tags, securityGroupIds },
      }));
  const before = foreign();
  return (t) => void t.strictSame(foreign(), before, 'I5: the primary ENI and foreign ENIs are untouched');
}
