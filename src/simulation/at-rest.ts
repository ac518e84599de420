/**
 * What must hold once nothing is wrong any more and nothing is asked: invariants 1, 5, 6, 7 and 8 at rest, and that every node serves.
 *
 * ENIs that somebody else has changed are left out: what repairs those is the keepers' work.
 */

import type { EniFactoryContext } from '../../statecharts/eni-factory-context.ts';
import { isHeldBackFor } from '../core/held-back.ts';
import type { Lease } from '../core/lease.ts';
import { isTaken } from '../core/own-eni.ts';
import { knownIps } from '../core/pairs.ts';
import { UNREADABLE } from './crash-store.ts';
import type { FakeKubernetes } from './fake-kubernetes.ts';
import type { Kubelet } from './kubelet.ts';
import type { SimNode } from './sim-node.ts';
import type { Report } from './violation.ts';
import type { VirtualCloud } from './virtual-cloud.ts';
import type { Witness } from './witness.ts';

/** What a look takes. */
const LOOK_GRACE_MS = 30_000;

export type RestOptions = {
  readonly nodes: readonly SimNode[];
  readonly kubelet: Kubelet;
  readonly apiServer: FakeKubernetes;
  readonly cloud: VirtualCloud;
  readonly witness: Witness;
  readonly report: Report;
  /** Somebody else has been at work: counts of ENIs and addresses need not be as the node wants them. */
  readonly disturbed: boolean;
};

export function checkRest(options: RestOptions): void {
  const { nodes, kubelet, report } = options;
  if (kubelet.waiting > 0) report('rest', `${kubelet.waiting} requests still wait`);
  for (const node of nodes) {
    if (!node.serving) {
      const { value, context } = node.snapshot('node') ?? {};
      report(
        'rest',
        `node ${node.index + 1} does not serve: ${JSON.stringify(value)} ${JSON.stringify(context?.missing)}`,
      );
      continue;
    }
    checkLeases(node, options);
    checkEnis(node, options);
    checkPool(node, options);
    checkHost(node, options);
    checkLook(node, options);
    const open = [...node.disk.synced('intents').keys()].filter((id) => !options.witness.touched.has(id));
    if (open.length > 0) report('6', `node ${node.index + 1} has open intents at rest: ${open.join(', ')}`);
  }
}

/** The leases on disk are those of the pods that were answered, and of nobody else. */
function checkLeases(node: SimNode, { kubelet, apiServer, witness, report }: RestOptions): void {
  const onDisk = new Set(node.disk.synced('leases').keys());
  for (const container of kubelet.of(node.index)) {
    witness.checks += 1;
    const key = `${container.id}/eth0`;
    if (container.ip === null && onDisk.has(key) && container.pendingDels === 0)
      report('1', `${key} has a lease at rest that nobody was told, or that was given back`);
    if (container.ip !== null && holds(witness, container) && !onDisk.has(key))
      report('10', `${key} was told ${container.ip} and has no lease at rest`);
  }
  // Whose sandbox is lost, and whose pod the API server has with its address, may be using it for all that the node knows.
  const pods = apiServer.pods.filter(({ nodeName }) => nodeName === node.settings.nodeName);
  const used = new Set([...node.devices.hostPods.flatMap(({ ips }) => ips), ...pods.flatMap(({ podIPs }) => podIPs)]);
  const backHeld = Object.keys(node.snapshot('leases')?.children ?? {}).flatMap((id) => {
    const ip = /^lease:held-back:(.*)\/eth0$/.exec(id)?.[1];
    return ip === undefined || used.has(ip) ? [] : [ip];
  });
  if (backHeld.length > 0) report('rest', `addresses are held back at rest that no pod uses: ${backHeld.join(' ')}`);
  const open = node.snapshot('leases')?.context.open as ReadonlyMap<string, string> | undefined;
  if (open !== undefined && open.size > 0)
    report('4', `the leases actor still has open requests: ${JSON.stringify([...open])}`);
}

/** An ENI that somebody else let go before its pod was answered is nobody's fault. */
function holds(witness: Witness, { id, ip }: { readonly id: string; readonly ip: string | null }): boolean {
  const holding = witness.held.get(ip ?? '');
  return holding?.container === id && !witness.touched.has(holding.eniId);
}

/** Books, cloud and kernel agree. */
function checkEnis(node: SimNode, { cloud, disturbed, witness, report }: RestOptions): void {
  const name = `node ${node.index + 1}`;
  const truth = cloud.model.truth(cloud.clock.nowMs()).enis;
  const actors = new Map(node.books.enis.map((eni) => [eni.context.eniId ?? '', eni]));
  for (const [eniId, eni] of actors) {
    witness.checks += 3;
    if (witness.touched.has(eniId)) continue;
    if (!eni.matches({ inUse: 'resting' }))
      report(
        'rest',
        `${name}: ${eniId} is ${JSON.stringify(eni.value)} at rest; last failure ${JSON.stringify(eni.context.lastFailure)}`,
      );
    if (eni.context.queue.length > 0) report('4', `${name}: requests wait at ${eniId} at rest`);
    const real = truth.find((one) => one.eniId === eniId);
    if (real === undefined || real.instanceId !== node.instanceId) {
      report('7', `${name}: ${eniId} is in the factory and not attached here`);
      continue;
    }
    const { halves, dual } = eni.context;
    // An address that a pod of an ENI which others deleted uses yet is held back here, whether the cloud has it or not.
    const entries = eni.context.book.filter(
      ({ state, sandbox }) => !(disturbed && state === 'invalid' && isHeldBackFor(sandbox)),
    );
    const book = (dual ? [...knownIps(eni.context)] : entries.map((entry) => entry.address.ipv4)).sort();
    const ips = [...real.ipv4, ...(dual ? real.ipv6 : [])].sort();
    if (book.join() !== ips.join())
      report('7', `${name}: the book of ${eniId} has ${book.join(' ')}, the cloud ${ips.join(' ')}`);
    // What a pod has for itself is in the pod, or was taken from it by others.
    if (!isTaken(eni.context.book) && !node.devices.tables.has(real.mac))
      report('7', `${name}: ${eniId} has no device that is set up`);
    const lone = [...halves.ipv4.filter((entry) => !entry.primary), ...halves.ipv6, ...halves.leaving];
    const primary = halves.ipv4.some((entry) => entry.primary) && entries.length < eni.context.limit;
    if (lone.length > 0 || primary)
      report('7', `${name}: ${eniId} has halves of addresses at rest: ${JSON.stringify(halves)}`);
    const odd = entries.find((entry) => !['idle', 'bound', 'cooling', 'reserved'].includes(entry.state));
    if (odd !== undefined) report('7', `${name}: ${odd.address.ipv4} is ${odd.state} at rest`);
  }
  for (const eni of truth) {
    if (eni.type === 'Primary' || witness.touched.has(eni.eniId)) continue;
    const ours = eni.tags['enactor/instance'] === node.instanceId;
    witness.checks += 1;
    if (ours && !actors.has(eni.eniId))
      report('6', `${name}: ${eni.eniId} (${eni.status}) is ours and not in the factory`);
  }
  const macs = new Set(truth.filter((eni) => eni.instanceId === node.instanceId).map((eni) => eni.mac));
  for (const mac of node.devices.tables.keys())
    if (!macs.has(mac)) report('7', `${name}: the kernel still has a table for ${mac}, which is gone`);
}

/** While others hold places here somebody looks whether they still do. */
function checkLook(node: SimNode, { cloud, witness, report }: RestOptions): void {
  const context = node.snapshot('eniFactory')?.context as EniFactoryContext | undefined;
  if (context === undefined) return;
  witness.checks += 1;
  const ageMs = cloud.clock.nowMs() - context.lookedAtMs;
  if (context.foreignEnis > 0 && ageMs > context.holdDownMs + LOOK_GRACE_MS)
    report('rest', `node ${node.index + 1} has ${context.foreignEnis} foreign ENIs and looked ${ageMs} ms ago`);
}

/** What others changed on the host is mended, and nothing is left of sandboxes whose address is nobody else's by now. */
function checkHost(node: SimNode, { disturbed, witness, report }: RestOptions): void {
  const name = `node ${node.index + 1}`;
  const records = [...node.disk.synced('leases')];
  // One whose ENI others took away cannot be had again before its DEL.
  for (const [key, text] of records)
    if (text === UNREADABLE && !disturbed) report('10', `${name}: the lease of ${key} cannot be read at rest`);
  const readable = records.filter(([, text]) => text !== UNREADABLE);
  const leases = readable.map(([key, value]) => [key, JSON.parse(value) as Lease] as const);
  const keys = new Set(leases.map(([key]) => key));
  // What a record that cannot be read may tell of is somebody's until the next start.
  const books = node.books.enis.flatMap(({ context }) => context.book);
  const unreadable = books.filter(({ pod }) => pod?.startsWith('unknown:')).map(({ address }) => address);
  const taken = new Set(
    [...unreadable, ...leases.map(([, { grant }]) => grant.address)].flatMap(({ ipv4, ipv6 }) => [ipv4, ipv6 ?? ipv4]),
  );
  for (const [mac, flaws] of node.devices.flaws) {
    witness.checks += 1;
    if (flaws.size > 0 && node.devices.tables.has(mac))
      report('7', `${name}: ${mac} has ${[...flaws].join(', ')} at rest`);
  }
  for (const [key, { ips, flaws }] of node.devices.pods) {
    witness.checks += 1;
    if (keys.has(key) && flaws.size > 0)
      report('7', `${name}: the host lacks ${[...flaws].join(', ')} of ${key} at rest`);
    // A pod that others took the ENI from runs on, and of its lease nothing may be left.
    const runs = ips.some((ip) => `${witness.held.get(ip)?.container}/eth0` === key);
    // Of one whose record was lost while others took its address away nobody can tell that it was ours.
    const unknown = disturbed && node.losses > 0;
    if (!keys.has(key) && !runs && !unknown && !ips.some((ip) => taken.has(ip)))
      report('7', `${name}: the host still has what was ${key}'s`);
  }
  for (const [ip, key] of node.devices.rules) {
    witness.checks += 1;
    const runs = `${witness.held.get(ip)?.container}/eth0` === key;
    // Those of a pod that is there are the pod's, and were looked at with it.
    if (!keys.has(key) && !runs && !taken.has(ip) && !node.devices.pods.has(key))
      report('7', `${name}: the host still has rules about ${ip}, which was ${key}'s`);
  }
}

/** Idle addresses are between the water marks as far as anything can be done about it. */
function checkPool(node: SimNode, { disturbed, witness, report }: RestOptions): void {
  if (disturbed) return;
  witness.checks += 2;
  const totals = node.snapshot('eniFactory')?.context.totals as
    | { idle: number; cooling: number; spare: number; waiting: number; room: number }
    | null
    | undefined;
  if (totals === null || totals === undefined) {
    report('rest', `node ${node.index + 1} knows no totals`);
    return;
  }
  const bounds = node.snapshot('idlePool')?.context.bounds as { minIdle: number; maxIdle: number };
  const sheddable = node.books.enis.reduce((sum, { context }) => {
    const { ours, book } = context;
    const idle = book.filter((entry) => entry.state === 'idle' && !entry.primary).length;
    return sum + (ours ? idle : 0);
  }, 0);
  if (totals.idle + totals.cooling < bounds.minIdle && totals.room > 0)
    report(
      'rest',
      `node ${node.index + 1}: ${totals.idle} idle and ${totals.cooling} cooling at rest, low mark ${bounds.minIdle}, room ${totals.room}`,
    );
  if (totals.idle > bounds.maxIdle && sheddable > 0)
    report(
      'rest',
      `node ${node.index + 1}: ${totals.idle} idle at rest, ${sheddable} could go, high mark ${bounds.maxIdle}`,
    );
}
