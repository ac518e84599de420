/**
 * What the outside knows, whatever the nodes believe: who was told which address, what is on each disk, and what somebody else did to
 * the cloud. The invariants about addresses are checked against it the moment something happens.
 */
import { halvesOf } from '../core/address.ts';
import type { Lease } from '../core/lease.ts';
import type { StoreOp } from '../ports/store.ts';
import type { VpcEvent } from '../vpc/events.ts';
import type { ApiName, EniView, Input } from '../vpc/requests.ts';
import { UNREADABLE } from './crash-store.ts';
import type { Report } from './violation.ts';

export type Holding = {
  readonly node: number;
  readonly container: string;
  readonly eniId: string;
  /** It has the ENI for itself. */
  readonly own: boolean;
};
export type DiskLease = { readonly node: number; readonly sandbox: string; readonly eniId: string };

const TAKES_AWAY: readonly ApiName[] = [
  'UnassignPrivateIpAddresses',
  'UnassignIpv6Addresses',
  'DetachNetworkInterface',
  'DeleteNetworkInterface',
];

export class Witness {
  /** Addresses, each half of a pair by itself, of pods that were answered and that nobody has asked to delete. */
  readonly held = new Map<string, Holding>();
  /** Leases on the disks, by address. */
  readonly leased = new Map<string, DiskLease>();
  /** The same by node and sandbox: two records may tell of one address that others have taken from the first. */
  readonly #records = new Map<string, readonly string[]>();
  /** When the rest of a released address ends. */
  readonly restUntilMs = new Map<string, number>();
  /** When the rest of an address ends that some disk says was given back. */
  readonly #coolUntilMs = new Map<string, { readonly node: number; readonly untilMs: number }>();
  /** Addresses of ENIs that are attached, each half by itself -> its ENI. */
  readonly #there = new Map<string, { readonly eniId: string; readonly sinceMs: number }>();
  /** Held, but the record of it was lost: not found on the disk through no fault of the node, until it is there again. */
  readonly #recordLost = new Set<string>();
  /** ENIs that somebody else has changed: what is said of them may be wrong without fault. */
  readonly touched = new Set<string>();
  /** ENIs made by a Create whose sender may have given it up: a node need not know of one before it looks at all it has. */
  readonly madeLate = new Set<string>();
  /** The token that an ENI was made with -> the ENI. */
  readonly made = new Map<string, string>();
  /** Somebody else is at work: what happens now is none of ours. */
  outOfBand = false;
  /** Invariants looked at so far. */
  checks = 0;
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  /** Invariants 1 and 10: an answered address is nobody else's, and is on the disk. */
  answered(node: number, container: string, { grant, sandbox }: Lease, coolingOffered: boolean, nowMs: number): void {
    this.checks += 5;
    const own = sandbox.ownEni === true;
    this.#alone(container, grant.eni.eniId, own);
    for (const ip of halvesOf(grant.address))
      this.#answered(ip, node, container, { ...grant.eni, own }, coolingOffered, nowMs);
  }

  /** Nobody else has an address of an ENI that a pod has for itself. */
  #alone(container: string, eniId: string, own: boolean): void {
    if (this.touched.has(eniId)) return;
    for (const [ip, other] of this.held)
      if (other.eniId === eniId && other.container !== container && (own || other.own))
        this.#report(
          'own',
          `${container} was given an address of ${eniId}, where ${other.container} has ${ip}, and ${own ? 'it' : 'that one'} is to have the ENI for itself`,
        );
  }

  #answered(
    ip: string,
    node: number,
    container: string,
    { eniId, own }: { readonly eniId: string; readonly own: boolean },
    coolingOffered: boolean,
    nowMs: number,
  ): void {
    const other = this.held.get(ip);
    // Whoever's ENI somebody else has let go of holds what the cloud may have given to another by now.
    const othersWork = this.touched.has(eniId) || this.touched.has(other?.eniId ?? '');
    if (other !== undefined && other.container !== container && !othersWork)
      this.#report('1', `${ip} was answered to ${container} while ${other.container} holds it`);
    const disk = this.leased.get(ip);
    const isOwn = disk?.node === node && disk.sandbox === `${container}/eth0`;
    const recorded = this.#records.get(`${node} ${container}/eth0`)?.includes(ip) === true;
    if (!isOwn && !(recorded && this.touched.has(eniId)))
      this.#report('10', `${ip} was answered to ${container}, on disk it is ${disk?.sandbox ?? 'nobody'}'s`);
    if (this.#there.get(ip)?.eniId !== eniId && !this.touched.has(eniId))
      this.#report('1', `${ip} was answered to ${container}, and ${eniId} does not have it here`);
    const restUntilMs = this.restUntilMs.get(ip) ?? 0;
    if (restUntilMs > nowMs && !coolingOffered && !this.touched.has(eniId))
      this.#report(
        '3',
        `${ip} was answered to ${container} as if idle, ${restUntilMs - nowMs} ms before its rest ends`,
      );
    this.restUntilMs.delete(ip);
    // What others took away before the node could know is nobody's, whatever the pod was told.
    if (this.#there.get(ip)?.eniId === eniId) this.held.set(ip, { node, container, eniId, own });
  }

  /** The disk of a node after a sync. Invariant 1: one lease for an address. */
  synced(node: number, ops: readonly StoreOp[]): void {
    // What was lost with its ENI may be somebody else's by now.
    const lost = new Set<string>();
    for (const op of ops) {
      if (op.in === 'coolDowns') {
        if (lost.has(op.key)) continue;
        if (op.type === 'put') this.#coolUntilMs.set(op.key, { node, untilMs: op.value as number });
        else this.#coolUntilMs.delete(op.key);
      }
      if (op.in !== 'leases') continue;
      this.#records.delete(`${node} ${op.key}`);
      for (const [ip, lease] of this.leased)
        if (lease.node === node && lease.sandbox === op.key) {
          this.leased.delete(ip);
          if (this.touched.has(lease.eniId)) lost.add(ip);
        }
      if (op.type === 'put') this.#lease(node, op.key, op.value as Lease);
    }
  }

  /** A node's disk as a crash has left it. Invariant 10: every answered lease is there. */
  recovered(node: number, leases: ReadonlyMap<string, string>): void {
    for (const [ip, lease] of this.leased) if (lease.node === node) this.leased.delete(ip);
    for (const key of this.#records.keys()) if (key.startsWith(`${node} `)) this.#records.delete(key);
    for (const [sandbox, text] of leases)
      if (text !== UNREADABLE) this.#lease(node, sandbox, JSON.parse(text) as Lease);
    for (const [ip, holding] of this.held) {
      if (holding.node !== node || this.#recordLost.has(ip)) continue;
      this.checks += 1;
      // Another lease may name it too, where others have moved it in the cloud.
      if (this.#records.get(`${node} ${holding.container}/eth0`)?.includes(ip) !== true)
        this.#report('10', `after a crash the lease of ${ip} that ${holding.container} was told is not on disk`);
    }
  }

  /** A node's disk has lost all, or the lease of one sandbox. Whoever was told an address still has it. */
  recordsLost(node: number, sandbox: string | null): void {
    for (const key of this.#records.keys()) if (key.startsWith(`${node} ${sandbox ?? ''}`)) this.#records.delete(key);
    for (const [ip, lease] of this.leased)
      if (lease.node === node && (sandbox === null || lease.sandbox === sandbox)) this.leased.delete(ip);
    for (const [ip, holding] of this.held)
      if (holding.node === node && (sandbox === null || `${holding.container}/eth0` === sandbox))
        this.#recordLost.add(ip);
    if (sandbox !== null) return;
    for (const [ip, rest] of this.#coolUntilMs) {
      if (rest.node !== node) continue;
      this.#coolUntilMs.delete(ip);
      this.restUntilMs.delete(ip);
    }
  }

  /** The cloud has had it on this ENI since then, and nobody else has been at work there. */
  isThere(ip: string, eniId: string | null, sinceMs: number): boolean {
    const there = this.#there.get(ip);
    return there !== undefined && there.eniId === eniId && there.sinceMs >= sinceMs && !this.touched.has(there.eniId);
  }

  /** A sandbox's lease on a node's disk. */
  hasLease(node: number, sandbox: string): boolean {
    for (const lease of this.leased.values()) if (lease.node === node && lease.sandbox === sandbox) return true;
    return false;
  }

  #lease(node: number, sandbox: string, { grant }: Lease): void {
    this.#records.set(`${node} ${sandbox}`, halvesOf(grant.address));
    for (const ip of halvesOf(grant.address)) {
      this.checks += 1;
      const other = this.leased.get(ip);
      const othersWork = this.touched.has(grant.eni.eniId) || this.touched.has(other?.eniId ?? '');
      if (other !== undefined && !othersWork && (other.node !== node || other.sandbox !== sandbox))
        this.#report('1', `${ip} has two leases: ${other.sandbox} and ${sandbox}`);
      this.leased.set(ip, { node, sandbox, eniId: grant.eni.eniId });
      this.#recordLost.delete(ip);
    }
  }

  /** Invariants 2 and 5, before a call that changes something leaves the node. */
  sending(
    { node, instanceId, nowMs }: { readonly node: number; readonly instanceId: string; readonly nowMs: number },
    api: ApiName,
    input: Input<ApiName>,
    enis: readonly EniView[],
  ): void {
    if (!('eniId' in input) || api.startsWith('Describe')) return;
    this.checks += 2;
    const eni = enis.find((one) => one.eniId === input.eniId);
    if (eni?.type === 'Primary') this.#report('5', `${api} on the primary ENI ${eni.eniId}`);
    if (eni !== undefined && eni.instanceId !== null && eni.instanceId !== instanceId && !this.touched.has(eni.eniId))
      this.#report('5', `${api} on ${eni.eniId}, which is attached to ${eni.instanceId}`);
    if (!TAKES_AWAY.includes(api)) return;
    if (eni !== undefined && eni.tags['enactor/instance'] !== instanceId)
      this.#report('5', `${api} on ${eni.eniId}, which this node has not made`);
    if (this.touched.has(input.eniId)) return;
    const ips = 'ips' in input ? input.ips : [...(eni?.ipv4 ?? []), ...(eni?.ipv6 ?? [])];
    for (const ip of ips) {
      this.#taken(ip, `${api} on ${input.eniId} by node ${node}`, input.eniId);
      this.#rests(ip, `${api} on ${input.eniId} by node ${node}`, nowMs);
    }
  }

  /** Invariant 2, as things happen in the cloud. */
  happened(event: VpcEvent): void {
    if (event.type === 'attached')
      for (const ip of [...event.ipv4, ...event.ipv6]) this.#there.set(ip, { eniId: event.eniId, sinceMs: event.atMs });
    if (event.type === 'addressAssigned' && event.instanceId !== null)
      this.#there.set(event.ip, { eniId: event.eniId, sinceMs: event.atMs });
    if (event.type === 'addressReleased') this.#there.delete(event.ip);
    if (event.type === 'detached')
      for (const [ip, { eniId }] of this.#there) if (eniId === event.eniId) this.#there.delete(ip);
    if (event.type === 'addressReleased') {
      if (this.outOfBand) this.lost(event.ip);
      else {
        this.#taken(event.ip, `${event.ip} left ${event.eniId}`, event.eniId);
        if (!this.touched.has(event.eniId)) this.#rests(event.ip, `${event.ip} left ${event.eniId}`, event.atMs);
      }
      this.#coolUntilMs.delete(event.ip);
      this.restUntilMs.delete(event.ip);
    }
    if (event.type === 'detached' && !this.outOfBand && !this.touched.has(event.eniId)) {
      this.checks += 1;
      for (const [ip, holding] of this.held)
        if (holding.eniId === event.eniId)
          this.#report('2', `${event.eniId} was detached under ${ip} of ${holding.container}`);
    }
  }

  /** Somebody took it away: whoever holds it holds nothing, through no fault of the node. */
  lost(ip: string): void {
    this.held.delete(ip);
  }

  /** The pod that had it may be in its tear-down yet, and its traffic would reach whoever gets the address next. */
  #rests(ip: string, what: string, nowMs: number): void {
    this.checks += 1;
    const restsMs = (this.#coolUntilMs.get(ip)?.untilMs ?? 0) - nowMs;
    if (restsMs > 0) this.#report('cooling', `${what}: ${ip} rests for ${restsMs} ms yet`);
  }

  #taken(ip: string, what: string, eniId: string): void {
    if (this.touched.has(eniId)) {
      this.lost(ip);
      return;
    }
    this.checks += 1;
    const holding = this.held.get(ip);
    // What left this ENI before may be another's by now.
    if (holding?.eniId === eniId) this.#report('2', `${what}: ${ip} is held by ${holding.container}`);
    const lease = this.leased.get(ip);
    if (lease !== undefined && lease.eniId === eniId)
      this.#report('2', `${what}: ${ip} has a lease of ${lease.sandbox} on disk`);
  }
}
