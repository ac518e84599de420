/** What must hold of one node whenever nothing is under way: design.md, "Invariants". */
import type { Lease } from '../../src/core/lease.ts';
import { eventually, type OneNode } from './one-node.ts';

const CALM_MS = 120;

/** Waits until no ENI actor is busy and no call has come for a while; fails when that does not happen. */
export async function atRest(lab: OneNode, withinMs = 20_000): Promise<void> {
  const { ledger } = lab.cloud.live.gateway;
  let lastSeq = -1;
  let sinceMs = 0;
  await eventually(
    'the node is at rest',
    () => {
      const { enis, waiting } = lab.report();
      const busy = waiting.length > 0 || enis.some((eni) => !eni.state.startsWith('inUse.resting')) || cooling(lab) > 0;
      if (busy || ledger.lastSeq !== lastSeq) {
        lastSeq = ledger.lastSeq;
        sinceMs = Date.now();
        return false;
      }
      return Date.now() - sinceMs > CALM_MS;
    },
    withinMs,
  );
}

const cooling = (lab: OneNode): number => lab.report().pool?.counts.cooling ?? 0;

/** Every way in which the node at rest is not as it has to be; empty when all is well. */
export function troubles(lab: OneNode): string[] {
  const report = lab.report();
  const truth = new Map(lab.truth().map((eni) => [eni.eniId, eni]));
  const disk = [...(lab.disk.get('leases')?.values() ?? [])].map((text) => JSON.parse(text) as Lease);
  const found: string[] = [];
  const check = (holds: boolean, what: string): void => {
    if (!holds) found.push(what);
  };
  const same = (a: readonly string[], b: readonly string[]): boolean =>
    JSON.stringify([...a].sort()) === JSON.stringify([...b].sort());

  const held = disk.map((lease) => lease.grant.address.ipv4);
  check(new Set(held).size === held.length, `an address has two leases: ${held}`);
  for (const lease of disk) {
    const eni = truth.get(lease.grant.eni.eniId);
    check(eni?.ipv4.includes(lease.grant.address.ipv4) ?? false, `${lease.grant.address.ipv4} is leased and not there`);
    check(eni?.status === 'InUse', `${lease.grant.address.ipv4} is leased on an ENI that is ${eni?.status}`);
  }
  check(
    same(
      report.enis.map((eni) => eni.eniId ?? ''),
      [...truth.keys()],
    ),
    `actors ${report.enis.map((eni) => eni.eniId)}, truth ${[...truth.keys()]}`,
  );
  for (const eni of report.enis) {
    const book = eni.addresses.map((address) => address.ipv4);
    check(same(book, truth.get(eni.eniId ?? '')?.ipv4 ?? []), `${eni.eniId}: the book has ${book}`);
    const bound = eni.addresses.filter((address) => address.state === 'bound').map((address) => address.ipv4);
    const leased = disk.filter((lease) => lease.grant.eni.eniId === eni.eniId).map((lease) => lease.grant.address.ipv4);
    check(same(bound, leased), `${eni.eniId}: bound ${bound}, on disk ${leased}`);
    for (const { ipv4, state } of eni.addresses) check(state === 'bound' || state === 'idle', `${ipv4} is ${state}`);
  }
  check(report.leases.length === disk.length, `${report.leases.length} leases, ${disk.length} on disk`);
  const actors = report.actors.map((actor) => actor.path);
  const leases = actors.filter((path) => path.includes('/lease:'));
  const enis = actors.filter((path) => path.includes('/eni:'));
  check(leases.length === disk.length, `lease actors: ${leases}`);
  check(enis.length === truth.size, `ENI actors: ${enis}`);
  const below = actors.filter((path) => path.split('/').length > 2);
  check(below.length === leases.length + enis.length, `actors: ${actors}`);
  for (const code of [
    'EniPerInstanceLimitExceeded',
    'InvalidOperation.Ipv4CountExceeded',
    'MaxEniPrivateIpsCountExceeded',
  ])
    check(
      !lab.cloud.live.gateway.ledger.read(0, null).some((call) => call.outcome.includes(code)),
      `a call was refused with ${code}`,
    );
  return found;
}
