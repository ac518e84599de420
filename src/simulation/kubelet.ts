/**
 * Those who call the nodes: ADD and DEL for containers, as runtimes do, and what each knows of its pods.
 *
 * A DEL that fails is repeated until it succeeds, as kubelets do; an ADD is not. Invariant 4 is checked here: one answer, by the
 * deadline, and the same one for the same sandbox.
 */
import { halvesOf } from '../core/address.ts';
import { failureOf } from '../core/errors.ts';
import type { Lease } from '../core/lease.ts';
import { parseReservation, type Reservation } from '../core/reservation.ts';
import { type Sandbox, sandboxKey } from '../core/sandbox.ts';
import type { Pod } from '../ports/kubernetes.ts';
import type { Fate } from './deed.ts';
import type { FakeKubernetes } from './fake-kubernetes.ts';
import type { Life } from './life.ts';
import { PLANTED_DEFECT } from './mishaps.ts';
import type { SimNode } from './sim-node.ts';
import type { Trace } from './trace.ts';
import type { Report } from './violation.ts';
import type { VirtualClock } from './virtual-clock.ts';
import type { Witness } from './witness.ts';

type Container = {
  readonly id: string;
  readonly node: number;
  /** What it was told and has not asked to delete. */
  ip: string | null;
  ipv6: string | null;
  /** ADDs and DELs sent so far; an ADD that was sent before the last DEL gives it nothing to keep. */
  sent: number;
  lastDel: number;
  /** The number of the last DEL that was answered well. */
  deleted: number;
  pendingAdds: number;
  /** Somebody who had asked for it went away unanswered: it may be given back without a DEL. */
  left: boolean;
  /** What befell it that alone takes no address away; an ADD makes it whole again. */
  halfGone: 'lingers' | 'sandboxLost' | null;
  /** The first deadline of the ADDs under way. */
  askedUntilMs: number;
  pendingDels: number;
  /** The host was booted since: no sandbox of this name will be again. */
  dead: boolean;
  /** Its lease's record was lost. Without a mark on the host nobody can tell that its address is its own. */
  record: 'whole' | 'lost' | 'lostForGood';
  /** A call ended without an answer, or an answer came too late: somebody has to delete it. */
  unsure: boolean;
};

type Pending = {
  readonly node: SimNode;
  readonly life: Life;
  readonly container: Container;
  readonly endMs: number;
  open: boolean;
  /** An ADD that a serving node was asked for and that its caller still waits for. */
  asks: boolean;
};

/** What an answer may take beyond the deadline: the write that was under way, and the one that takes it back. */
const GRACE_MS = 1_500;
const DEL_RETRY_MS = 1_000;
/** Kubelets ask ever more seldom: after so many tries only now and then. */
const DEL_TRIES = 60;
const DEL_LATE_RETRY_MS = 30_000;
const DEL_WITHIN_MS = 3_000;

export class Kubelet {
  readonly #containers = new Map<string, Container>();
  readonly #nodes: readonly SimNode[];
  readonly #clock: VirtualClock;
  readonly #witness: Witness;
  readonly #trace: Trace;
  readonly #report: Report;
  readonly #apiServer: FakeKubernetes;
  readonly #ownEnis: boolean;
  /** Pods of StatefulSets: the container that is theirs now. */
  readonly #owners = new Map<string, Container>();
  /** The address that each of them had last, by node. */
  readonly #lastOwn = new Map<string, string>();
  #pending: Pending[] = [];
  #earliestEndMs = Number.POSITIVE_INFINITY;

  constructor(options: {
    readonly nodes: readonly SimNode[];
    readonly clock: VirtualClock;
    readonly witness: Witness;
    readonly trace: Trace;
    readonly report: Report;
    readonly apiServer: FakeKubernetes;
    /** Some pods want an ENI for themselves. */
    readonly ownEnis: boolean;
  }) {
    this.#ownEnis = options.ownEnis;
    this.#apiServer = options.apiServer;
    this.#nodes = options.nodes;
    this.#clock = options.clock;
    this.#witness = options.witness;
    this.#trace = options.trace;
    this.#report = options.report;
  }

  /** ADDs that were answered with an address. */
  answered = 0;

  get waiting(): number {
    return this.#pending.length;
  }

  /** ADDs that callers of a node wait for. */
  askers(node: SimNode): number {
    return this.#pending.filter((pending) => pending.node === node && pending.asks).length;
  }

  wantsOwn(id: string): boolean {
    return this.#ownEnis && isOneInFive(id);
  }

  #sandboxOf(id: string): Sandbox {
    return { ...sandboxOf(id), ...(this.wantsOwn(id) && { ownEni: true as const }) };
  }

  /** Containers that hold an address, or may, on a node. */
  *of(node: number): Iterable<Readonly<Container>> {
    for (const container of this.#containers.values()) if (container.node === node) yield container;
  }

  add(nodeIndex: number, id: string, withinMs: number, abortMs: number | null): Promise<Lease | null> {
    const node = this.#nodes[nodeIndex];
    if (node === undefined) return Promise.resolve(null);
    const { life, system } = node;
    this.#trace.line(nodeIndex, id, 'ADD', this.#clock.nowMs());
    if (!node.up || system === null) return Promise.resolve(null);
    const container = this.#container(nodeIndex, id);
    // Nobody asks again for what runs, or for what a boot has ended.
    if (container.dead || (container.record === 'lostForGood' && container.ip !== null)) return Promise.resolve(null);
    const promised = this.#promisedTo(node, container);
    this.#apiServer.putPod(podOf(node, id, 'Running'));
    node.sandboxes.gone.delete(id);
    container.halfGone = null;
    container.sent += 1;
    container.pendingAdds += 1;
    const order = container.sent;
    // A node that serves nobody says so at once.
    const pending = this.#open(node, container, node.answering ? withinMs + GRACE_MS : 0);
    const aborter = new AbortController();
    pending.asks = node.answering;
    if (abortMs !== null)
      life.after(abortMs, () => {
        pending.asks = false;
        aborter.abort();
      });
    const untilMs = this.#clock.nowMs() + withinMs;
    container.askedUntilMs = container.pendingAdds > 1 ? Math.min(container.askedUntilMs, untilMs) : untilMs;
    const answer = system.allocator.allocate(
      { sandbox: this.#sandboxOf(id), untilMs, reserveMs: isOfSet(id) ? node.settings.reserveMs : 0 },
      aborter.signal,
    );
    return answer.then(
      (lease) => {
        if (!this.#close(pending)) return null;
        container.pendingAdds -= 1;
        this.#trace.line(nodeIndex, id, `ADD ${lease.grant.address.ipv4}`, this.#clock.nowMs());
        this.#checkPromise(node, promised, lease);
        this.#noteOwn(node, container, lease);
        this.#added(node, container, order, lease);
        return lease;
      },
      (thrown: unknown) => {
        if (!this.#close(pending)) return null;
        container.pendingAdds -= 1;
        const { code, detail } = failureOf(thrown);
        this.#trace.line(nodeIndex, id, `ADD ${code}`, this.#clock.nowMs());
        if (node.defective) {
          // What it holds is for its DEL to tell.
          container.unsure = true;
          return null;
        }
        // Whoever was asked first may have died of a defect and been replaced long ago: that stays the cause of a caller that waited all its time.
        if (code === 'internal' && !detail.includes(PLANTED_DEFECT))
          this.#report('alive', `ADD of ${id} answered ${code}: ${detail}`);
        // Nobody is told that it was given up who has not given up.
        const givenUp = aborter.signal.aborted || order < container.lastDel || !node.serving;
        if (code === 'cancelled' && givenUp) container.left = true;
        if (code === 'cancelled' && !givenUp) this.#report('4', `ADD of ${id} answered ${code}: ${detail}`);
        // A runtime deletes what it could not add: here the release may fail, and the lease be there yet.
        if (code === 'notReady' && /being released/.test(detail)) container.unsure = true;
        if (
          code === 'notReady' &&
          /being released/.test(detail) &&
          container.lastDel === 0 &&
          !givenUp &&
          !container.left
        )
          this.#report('4', `ADD of ${id} was told that it is being released, and nobody has asked for that`);
        // The first deadline of those who ask together is that of all of them.
        if (code === 'deadline' && node.serving && this.#clock.nowMs() < container.askedUntilMs)
          this.#report('4', `ADD of ${id} was told that its time was over before it was`);
        return null;
      },
    );
  }

  #added(node: SimNode, container: Container, order: number, lease: Lease): void {
    const ip = lease.grant.address.ipv4;
    this.answered += 1;
    this.#witness.checks += 1;
    if (lease.sandbox.containerId !== container.id)
      this.#report('4', `ADD of ${container.id} was answered with the lease of ${lease.sandbox.containerId}`);
    if (order < container.lastDel) {
      container.unsure = true;
      return;
    }
    if (container.ip !== null && container.ip !== ip && this.#witness.held.has(container.ip))
      this.#report('4', `${container.id} was told ${container.ip} and then ${ip}`);
    container.ip = ip;
    container.ipv6 = lease.grant.address.ipv6;
    const cooling = node.coolingOffered.delete(ip);
    const halves = halvesOf(lease.grant.address);
    const { mac, device } = lease.grant.eni;
    const ownMac = lease.sandbox.ownEni === true ? mac.toLowerCase() : null;
    if (ownMac === null && this.wantsOwn(container.id))
      this.#report('own', `${container.id} asked for an ENI of its own and was given an address of one that is shared`);
    node.devices.podMade(sandboxOf(container.id), halves, device.routeTable, isMarked(container.id), ownMac);
    if (container.halfGone !== 'lingers')
      this.#apiServer.putPod({ ...podOf(node, container.id, 'Running'), podIPs: halves });
    this.#witness.answered(node.index, container.id, lease, cooling, this.#clock.nowMs());
  }

  del(nodeIndex: number, id: string): void {
    const node = this.#nodes[nodeIndex];
    if (node === undefined) return;
    const container = this.#container(nodeIndex, id);
    container.sent += 1;
    container.lastDel = container.sent;
    const { ip } = container;
    this.#gone(node, container);
    if (!isOfSet(id) || this.#owners.get(podNameOf(id)) === container)
      this.#apiServer.deletePod(NAMESPACE, podNameOf(id));
    this.#tryDel(node, container, ip);
  }

  /**
   * The address that is kept for a pod of a StatefulSet which asks for one here: that of its sandbox before, which is gone by now, or
   * the one that the disk says.
   */
  #promisedTo(node: SimNode, container: Container): Promised | null {
    if (!isOfSet(container.id)) return null;
    const pod = podNameOf(container.id);
    const before = this.#owners.get(pod);
    this.#owners.set(pod, container);
    if (before === container) return null;
    // What a lost record said of it, nobody knows.
    const ip = before?.node === node.index && before.record === 'whole' ? before.ip : null;
    const ipv6 = before?.node === node.index ? before.ipv6 : null;
    const eniId = ip === null ? '' : (this.#witness.held.get(ip)?.eniId ?? '');
    // What a pod had before the node turned to dual stack is half an address by now, and kept for nobody.
    const isHalf = (half: string | null): boolean => half === null && node.settings.ipStack === 'dual';
    if (before !== undefined) {
      before.sent += 1;
      before.lastDel = before.sent;
      const home = this.#nodes[before.node];
      if (home !== undefined) this.#gone(home, before);
    }
    const { storeFailures } = node.mishaps;
    if (ip !== null && isHalf(ipv6)) return null;
    if (ip !== null)
      return { ip, eniId, untilMs: Number.POSITIVE_INFINITY, serves: serves(node, eniId, ip), storeFailures };
    const kept = reservationsOf(node).find((one) => one.pod === `${NAMESPACE}/${pod}`);
    if (kept === undefined || isHalf(kept.address.ipv6)) return null;
    const { untilMs, address } = kept;
    return {
      ip: address.ipv4,
      eniId: kept.eniId,
      untilMs,
      serves: serves(node, kept.eniId, address.ipv4),
      storeFailures,
    };
  }

  /** What a pod of a StatefulSet had last needs no rest for it, also while its release is under way. */
  #noteOwn(node: SimNode, { id }: Container, { grant }: Lease): void {
    if (!isOfSet(id)) return;
    const ip = grant.address.ipv4;
    if (this.#lastOwn.get(`${podNameOf(id)} ${node.index}`) === ip) node.coolingOffered.add(ip);
    this.#owned(node, id, ip);
  }

  /** Also of an ADD that nobody heard the answer of: its address is kept all the same. */
  #owned(node: SimNode, id: string, ip: string): void {
    if (isOfSet(id)) this.#lastOwn.set(`${podNameOf(id)} ${node.index}`, ip);
  }

  /** The promise of a reservation. Its ENI may be lost, the disk may fail, and others come first if the settings say so. */
  #checkPromise(node: SimNode, promised: Promised | null, { grant }: Lease): void {
    if (promised === null || !promised.serves) return;
    const { ip, eniId, untilMs, storeFailures } = promised;
    if (!serves(node, eniId, ip)) return;
    const nowMs = this.#clock.nowMs();
    const excused = node.defective || node.mishaps.storeFailures !== storeFailures || this.#witness.touched.has(eniId);
    if (excused || untilMs <= nowMs) return;
    this.#witness.checks += 1;
    if (grant.address.ipv4 === ip) return;
    const taken = this.#witness.leased.has(ip);
    if (taken && node.settings.reservationsYield) return;
    // Its pod had been elsewhere, and the collector was about to say so.
    const ended = !taken && !reservationsOf(node).some((one) => one.address.ipv4 === ip);
    if (ended && this.#nodes.length > 1) return;
    this.#report('kept', `${grant.address.ipv4} was given to a pod on node ${node.index + 1} that ${ip} is kept for`);
  }

  /** A pod is there again and on no node yet. One that lives has not gone. */
  pending(nodeIndex: number, id: string): void {
    const node = this.#nodes[nodeIndex];
    const isAlive = this.#apiServer.pod(NAMESPACE, podNameOf(id)) !== null;
    if (node === undefined || isAlive || this.#containers.has(id)) return;
    this.#trace.line(nodeIndex, id, 'pending', this.#clock.nowMs());
    this.#apiServer.putPod({ ...podOf(node, id, 'Pending'), nodeName: null });
  }

  /** Something happens to a pod, and nobody tells the node. */
  befall(nodeIndex: number, id: string, fate: Fate): void {
    const node = this.#nodes[nodeIndex];
    const container = this.#containers.get(id);
    if (node === undefined || container === undefined) return;
    this.#trace.line(nodeIndex, id, `fate ${fate}`, this.#clock.nowMs());
    if (fate === 'deleted' || fate === 'lingers') this.#apiServer.deletePod(NAMESPACE, podNameOf(id));
    if (fate === 'finished') this.#apiServer.putPod(podOf(node, id, 'Succeeded'));
    if (fate === 'replaced') this.#apiServer.putPod({ ...podOf(node, id, 'Running'), uid: `uid-of-${id}-anew` });
    if (fate === 'sandboxLost') node.sandboxes.gone.add(id);
    // A namespace that is gone takes the pod's device along; that of a finished pod may stay.
    if (fate !== 'lingers' && fate !== 'finished') node.devices.sandboxGone(keyOf(id));
    if (fate === 'lingers' || fate === 'sandboxLost') {
      // Either alone keeps its address; a sandbox that is lost and whose pod nobody knows is gone like any other.
      // Where its record is lost too, nothing tells of it at all.
      const untold = fate === 'sandboxLost' && container.record !== 'whole';
      const both = untold || (container.halfGone !== null && container.halfGone !== fate);
      container.halfGone = fate;
      if (!both) return;
    }
    // An ADD that is under way has nobody to keep what it gets.
    container.sent += 1;
    container.lastDel = container.sent;
    this.#gone(node, container);
  }

  /** Nothing of the container is left, whoever hears of it. */
  #gone(node: SimNode, container: Container): void {
    const { ip, ipv6, id } = container;
    for (const half of [ip, ipv6])
      if (half !== null && this.#witness.held.get(half)?.container === id) this.#witness.held.delete(half);
    container.ip = null;
    container.ipv6 = null;
    if (container.record !== 'whole') container.unsure = true;
    node.sandboxes.gone.add(id);
  }

  #tryDel(node: SimNode, container: Container, ip: string | null, tries = 1): void {
    const { system } = node;
    this.#trace.line(node.index, container.id, 'DEL', this.#clock.nowMs());
    // What was asked for again meanwhile goes with it.
    const again = (): void =>
      void this.#clock.after(tries < DEL_TRIES ? DEL_RETRY_MS : DEL_LATE_RETRY_MS, () => {
        if (container.ip === null && container.pendingAdds === 0) this.#tryDel(node, container, ip, tries + 1);
        else this.del(node.index, container.id);
      });
    if (!node.up || system === null) {
      again();
      return;
    }
    container.pendingDels += 1;
    const pending = this.#open(node, container, DEL_WITHIN_MS, again);
    const order = container.sent;
    const { pod } = sandboxOf(container.id);
    const drains = node.snapshot('node')?.matches({ running: 'draining' }) === true;
    const request = { containerId: container.id, ifName: 'eth0', pod, reason: 'simulated' };
    system.allocator.release(request, new AbortController().signal).then(
      (lease) => {
        if (!this.#close(pending)) return;
        container.pendingDels -= 1;
        const told = lease?.grant.address.ipv4 ?? null;
        this.#trace.line(node.index, container.id, `DEL ${told}`, this.#clock.nowMs());
        node.devices.podDeleted(keyOf(container.id), lease === null ? [] : halvesOf(lease.grant.address));
        container.deleted = order;
        if (order === container.sent) container.unsure = container.pendingAdds > 0 && container.unsure;
        if (told !== null) this.#owned(node, container.id, told);
        // What was lost with its ENI may be somebody else's by now.
        if (lease !== null && !this.#witness.touched.has(lease.grant.eni.eniId))
          for (const half of halvesOf(lease.grant.address)) this.#rests(node, half);
      },
      (thrown: unknown) => {
        if (!this.#close(pending)) return;
        container.pendingDels -= 1;
        const { code, detail } = failureOf(thrown);
        if (drains && code === 'notReady' && !/^the node/.test(detail.replace('the node is not serving yet', '')))
          this.#report('alive', `DEL of ${container.id} was turned away by a node that drains: ${detail}`);
        if (code === 'store' && /could not be written/.test(detail))
          this.#report('alive', `DEL of ${container.id} failed and nobody knows why: ${detail}`);
        this.#trace.line(node.index, container.id, 'DEL failed', this.#clock.nowMs());
        again();
      },
    );
  }

  /** The rest began when the release was written, a moment ago at most. */
  #rests(node: SimNode, ip: string): void {
    if (node.settings.coolDownMs > 0)
      this.#witness.restUntilMs.set(ip, this.#clock.nowMs() + node.settings.coolDownMs - GRACE_MS);
  }

  /**
   * The daemon of a node has ended: whoever waited for it gets no answer. What an ADD that failed has left on the disk, because the
   * process ended before it was taken back, is deleted by the runtime; but nothing may be left of a DEL that was answered.
   */
  ended(nodeIndex: number): void {
    for (const container of this.of(nodeIndex) as Iterable<Container>) {
      if (container.ip !== null || !this.#witness.hasLease(nodeIndex, `${container.id}/eth0`)) continue;
      if (container.deleted === container.sent && container.pendingAdds === 0)
        this.#report('10', `${container.id} was told that it is deleted, and after the end of the process has a lease`);
      container.unsure = true;
    }
    const lost = this.#pending.filter((pending) => pending.node.index === nodeIndex);
    this.#pending = this.#pending.filter((pending) => pending.node.index !== nodeIndex);
    for (const pending of lost) {
      pending.open = false;
      const { container } = pending;
      const again = this.#again.get(pending);
      if (again === undefined) {
        container.pendingAdds -= 1;
        container.unsure = container.ip === null || container.unsure;
      } else {
        container.pendingDels -= 1;
        again();
      }
    }
  }

  /** A node that is down has lost its store, or one sandbox's lease. Callers are told to delete what nobody can tell apart any more. */
  recordsLost(nodeIndex: number, sandbox: string | null): void {
    for (const container of this.of(nodeIndex) as Iterable<Container>) {
      const key = `${container.id}/eth0`;
      if (sandbox !== null && key !== sandbox) continue;
      const found = this.#nodes[nodeIndex]?.devices.pods.get(key)?.marked === true;
      container.record = found ? 'lost' : 'lostForGood';
      if (!found) container.unsure = true;
      const node = this.#nodes[nodeIndex];
      if (container.halfGone === 'sandboxLost' && node !== undefined) this.#gone(node, container);
    }
  }

  /** A node is booted: none of its sandboxes is left, and nobody tells it. Their pods are found again elsewhere. */
  rebooted(nodeIndex: number): void {
    const node = this.#nodes[nodeIndex];
    if (node === undefined) return;
    for (const container of this.of(nodeIndex) as Iterable<Container>) {
      if (container.dead) continue;
      container.sent += 1;
      container.lastDel = container.sent;
      container.dead = true;
      // Its lease is known to be of an earlier boot, if it is known at all.
      container.unsure = container.record !== 'whole';
      this.#gone(node, container);
      if (!isOfSet(container.id) || this.#owners.get(podNameOf(container.id)) === container)
        this.#apiServer.deletePod(NAMESPACE, podNameOf(container.id));
    }
  }

  readonly #again = new WeakMap<Pending, () => void>();

  /** Invariant 4, as far as time goes. */
  check(): void {
    const nowMs = this.#clock.nowMs();
    if (nowMs <= this.#earliestEndMs) return;
    this.#earliestEndMs = Number.POSITIVE_INFINITY;
    for (const { container, endMs, node } of this.#pending) {
      this.#witness.checks += 1;
      if (endMs < nowMs)
        this.#report(
          '4',
          `a request of ${container.id} on node ${node.index + 1} has no answer ${nowMs - endMs} ms after its end`,
        );
      this.#earliestEndMs = Math.min(this.#earliestEndMs, endMs);
    }
  }

  #open(node: SimNode, container: Container, withinMs: number, again?: () => void): Pending {
    const endMs = this.#clock.nowMs() + withinMs;
    const pending: Pending = { node, life: node.life, container, endMs, open: true, asks: false };
    this.#pending.push(pending);
    this.#earliestEndMs = Math.min(this.#earliestEndMs, endMs);
    if (again !== undefined) this.#again.set(pending, again);
    return pending;
  }

  /** False: the life that was asked is over, so nobody hears this. */
  #close(pending: Pending): boolean {
    if (!pending.open || pending.life.over) return false;
    pending.open = false;
    this.#pending = this.#pending.filter((one) => one !== pending);
    return true;
  }

  #container(node: number, id: string): Container {
    const known = this.#containers.get(id);
    if (known !== undefined) return known;
    const fresh = {
      id,
      node,
      ip: null,
      ipv6: null,
      sent: 0,
      lastDel: 0,
      deleted: 0,
      pendingAdds: 0,
      left: false,
      halfGone: null,
      askedUntilMs: 0,
      pendingDels: 0,
      dead: false,
      record: 'whole' as const,
      unsure: false,
    };
    this.#containers.set(id, fresh);
    return fresh;
  }
}

const NAMESPACE = 'default';
/** `set0#2` is the second container of the pod `pod-of-set0`. */
const podNameOf = (id: string): string => `pod-of-${id.split('#')[0]}`;
/** Most pods are our plugin's. */
const isMarked = (id: string): boolean => [...id].reduce((sum, char) => sum + char.charCodeAt(0), 0) % 4 !== 0;
/** An ENI is kept for no pod: none of a StatefulSet is among them. */
const isOneInFive = (id: string): boolean => !isOfSet(id) && Number(id.replace(/\D/g, '')) % 5 === 3;
const isOfSet = (id: string): boolean => id.includes('#');

type Promised = {
  readonly ip: string;
  readonly eniId: string;
  readonly untilMs: number;
  /** The ENI could serve when it was asked for. */
  readonly serves: boolean;
  readonly storeFailures: number;
};

/**
 * An address that Describe did not show to a life that had just begun is invalid there, and kept for nobody; and whose ENI's device is away
 * is not waited for.
 */
const serves = (node: SimNode, eniId: string, ip: string): boolean =>
  node.books.enis.some((eni) => {
    const { eniId: id, book, device } = eni.context;
    const isInvalid = book.some(({ state, address }) => state === 'invalid' && address.ipv4 === ip);
    return id === eniId && eni.matches('inUse') && device !== null && !isInvalid;
  });

function reservationsOf(node: SimNode): readonly Reservation[] {
  const all = [...node.disk.synced('reservations').values()].flatMap(
    (text) => parseReservation(JSON.parse(text)) ?? [],
  );
  return all.sort((a, b) => b.untilMs - a.untilMs);
}

function podOf(node: SimNode, id: string, phase: Pod['phase']): Pod {
  const { namespace, name, uid } = sandboxOf(id).pod;
  return {
    ...{ namespace, name, uid, phase },
    nodeName: node.settings.nodeName,
    hostNetwork: false,
    labels: {},
    annotations: {},
    podIPs: [],
    deletionMs: null,
    ownerKind: null,
  };
}

const keyOf = (id: string): string => sandboxKey(sandboxOf(id));

function sandboxOf(id: string) {
  const pod = { namespace: NAMESPACE, name: podNameOf(id), uid: `uid-of-${id}` };
  return { containerId: id, ifName: 'eth0', netns: `/run/netns/${id}`, network: 'enactor', pod };
}
