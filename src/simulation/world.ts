/**
 * N nodes in one VPC on one virtual clock, driven through a plan and then left to rest.
 *
 * A step is one timer (of an actor, of a call's way, of the cloud, of the plan) and everything that follows from it at that instant.
 * Which file checks which invariant of the design, and when:
 *  1  witness (as a lease is synced, and as one is answered), book-watch (every step of an ENI), at-rest
 *  2  witness: as a call leaves, and as the cloud carries it out
 *  3  book-watch (as a cooling address is offered: none is idle; every step: no rest is late), witness (as one is answered). That the
 *     node cannot grow either is for placement's own tests
 *  4  kubelet (every step: deadlines, the same answer again), agreement (every step: each request is known to one who will answer it)
 *  5  world (as an ENI is made: slots), book-watch (every step: quotas), witness (as a call leaves: primary and foreign ENIs)
 *  6  call-watch (as a call leaves: its intent is on the disk), agreement (every step: factory and ENIs), at-rest (no ENI of ours outside
 *     the factory, no intent open)
 *  7  book-watch and agreement (every step: the books of ENI, factory and pool), at-rest (books, cloud and kernel)
 *  8  world: at rest no call changes anything; and where nobody else has been at work, none that is refused is even tried
 *  9  call-watch (as a call leaves: one an ENI), sim-node (every step: the line). Rates per API are the real adapter's, with its tests
 * 10  witness: at each answer and at each end of a process; kubelet: nothing is left of a DEL that was answered
 * What an actor does in a step: conduct, with course (which state may follow which, and when a call may be made again), evidence (what an ENI
 * makes of an answer), hold-watch (what was refused is not asked for again) and root-watch (who calls, and what is remembered); what may be so
 * for a moment and not for long: patience; what others change on the host: host-watch; that an ENI has one actor: owners; what the garbage
 * collector makes of its witnesses: verdicts; what is struck off a disk: record-watch.
 * Beside them: stand-still and `alive` (nobody waits for what will not come), and at rest that every node serves, keeps its water marks
 * and has an address for one more pod.
 */

import type { AnyActorRef } from 'xstate';
import type { NodePorts } from '../../actors/ports.ts';
import { ownTags, REQUEST_TAG } from '../../actors/tags.ts';
import { type IdlePoolContext, nextPeriodMs } from '../../statecharts/idle-pool-context.ts';
import { isHeldBackFor } from '../core/held-back.ts';
import { isTaken } from '../core/own-eni.ts';
import type { Log } from '../ports/log.ts';
import { INSTANCE_TYPES, type InstanceType } from '../vpc/instance-types.ts';
import { mutates, VpcModel } from '../vpc/model.ts';
import type { Change } from '../vpc/out-of-band.ts';
import type { ApiName } from '../vpc/requests.ts';
import { COUNTING_ENTROPY } from '../vpc/world.ts';
import { checkRest } from './at-rest.ts';
import type { EniSnapshot } from './book-watch.ts';
import { type Decision, type Deed, MET_ENI } from './deed.ts';
import { FakeKubernetes } from './fake-kubernetes.ts';
import { HostWatch } from './host-watch.ts';
import { Kubelet } from './kubelet.ts';
import { Issuers } from './lifetimes.ts';
import { MET } from './moments.ts';
import type { Scenario } from './scenario.ts';
import { Seeded } from './seeded.ts';
import { type Heard, SimNode } from './sim-node.ts';
import { Trace } from './trace.ts';
import type { Report, Violation } from './violation.ts';
import { settle, VirtualClock } from './virtual-clock.ts';
import { VirtualCloud } from './virtual-cloud.ts';
import { Witness } from './witness.ts';

/** Long enough for every back-off, hold-down and time-out to end, and for what they kept waiting to be done. */
export const CALM_MS = 9 * 60_000;
/** How long the rest is watched unless told otherwise: the periods of the actors repeat within less. */
const WATCH_MS = 6 * 60_000;
/** Another actor has taken over by then, and looked at what is left. */
const MENDED_MS = 60_000;
/** By then a mark that follows demand has forgotten any peak: a quarter of it goes in each. */
const FADED_PERIODS = 40;
/** A run that never comes to rest must end. */
const STEPS_MAX = 200_000;

const quiet: Log = { debug() {}, info() {}, warn() {}, error() {} };

export type WorldOptions = {
  readonly log?: Log;
  /** Hears of each transition of each actor, and of what callers do. */
  readonly onLine?: (line: string) => void;
  /** Wraps the ports of every life: a fault of the program itself, that the simulation has to find. */
  readonly plant?: (ports: NodePorts) => NodePorts;
  /** Steps after which a run counts as one that never comes to rest. */
  readonly stepsMax?: number;
  /** How long the world is watched once it has come to rest. */
  readonly watchMs?: number;
  /** How long it is left alone before it has to be at rest. */
  readonly calmMs?: number;
  /** An inspector of all nodes' actors. */
  readonly onHeard?: (heard: Heard) => void;
  /** Told whenever the plan says so. */
  readonly onLook?: (world: World) => void;
};

export class World {
  readonly trace = new Trace();
  readonly witness: Witness;
  readonly clock: VirtualClock;
  readonly cloud: VirtualCloud;
  readonly nodes: readonly SimNode[];
  readonly kubelet: Kubelet;
  readonly apiServer = new FakeKubernetes();
  /** null: nothing that opens doors ends. */
  readonly issuers: Issuers | null;
  steps = 0;
  /** Decisions of the plan that were carried out. */
  decided = 0;
  violation: Violation | null = null;
  readonly #hosts: readonly HostWatch[];
  readonly #scenario: Scenario;
  readonly #stepsMax: number;
  readonly #options: WorldOptions;
  #disturbed = false;

  constructor(scenario: Scenario, options: WorldOptions = {}) {
    this.#scenario = scenario;
    this.#options = options;
    this.#stepsMax = options.stepsMax ?? STEPS_MAX;
    this.trace.onLine = options.onLine ?? null;
    this.clock = new VirtualClock(scenario.startMs);
    const report: Report = (invariant, what) => {
      this.violation ??= { invariant, what, step: this.steps, atMs: this.clock.nowMs() - scenario.startMs };
    };
    this.witness = new Witness(report);
    const jitter = new Seeded(scenario.seed, 'cloud');
    const model = new VpcModel({
      topology: scenario.topology,
      nowMs: scenario.startMs,
      settings: scenario.cloud,
      entropy: { ...COUNTING_ENTROPY, random: () => jitter.fraction() },
    });
    this.cloud = new VirtualCloud(model, this.clock);
    model.subscribe((event) => {
      this.witness.happened(event);
      if (event.type !== 'eniCreated' || this.witness.outOfBand) return;
      if (this.cloud.late) this.witness.madeLate.add(event.eniId);
      this.#made(event.eniId);
    });
    const { lifetimes } = scenario;
    this.issuers = lifetimes === null ? null : new Issuers(lifetimes, this.clock.nowMs, report);
    this.nodes = scenario.topology.instances.map(
      ({ instanceId }, index) =>
        new SimNode({
          index,
          instanceId,
          settings: scenario.settings[index] as (typeof scenario.settings)[number],
          turnsDual: scenario.stack === 'turnsDual',
          seed: scenario.seed,
          cloud: this.cloud,
          apiServer: this.apiServer,
          issuers: this.issuers,
          witness: this.witness,
          trace: this.trace,
          report,
          plant: options.plant ?? ((ports) => ports),
          log: options.log ?? quiet,
          ...(options.onHeard && { onHeard: options.onHeard }),
          onEnd: () => this.kubelet.ended(index),
          onLost: (sandbox) => this.kubelet.recordsLost(index, sandbox),
        }),
    );
    this.kubelet = new Kubelet({ ...this, report, ownEnis: scenario.ownEnis });
    this.#hosts = this.nodes.map((node) => new HostWatch(node, this.witness, report));
  }

  /** Runs a plan to its rest; true when no invariant was violated. `plan` may be a part of the scenario's own. */
  async run(plan: readonly Decision[] = this.#scenario.plan): Promise<boolean> {
    for (const node of this.nodes) node.start();
    await this.#settled();
    for (const decision of plan) {
      if (this.steps >= this.#scenario.steps) break;
      await this.#until(decision.atMs);
      if (this.violation !== null) return false;
      this.decided += 1;
      this.#decide(decision, null);
      await this.#settled();
    }
    await this.#rest();
    return this.violation === null;
  }

  async #rest(): Promise<void> {
    this.cloud.heal();
    for (const { vSwitchId } of this.#scenario.topology.vSwitches)
      this.cloud.model.change({ change: 'withhold', vSwitchId, addresses: 0 }, this.clock.nowMs());
    for (const node of this.nodes) {
      node.disarm();
      node.mishaps.end();
      node.mend();
      node.devices.stuck = false;
    }
    await this.#settled();
    const { calmMs = CALM_MS } = this.#options;
    await this.#until(this.clock.nowMs() + calmMs / 3);
    for (const node of this.nodes)
      for (const container of [...this.kubelet.of(node.index)])
        if (container.unsure) this.kubelet.del(node.index, container.id);
    await this.#settled();
    await this.#until(this.clock.nowMs() + (2 * calmMs) / 3);
    await this.#faded();
    if (this.violation !== null) return;
    this.#checkRest();
    if (this.violation !== null) return;
    const before = this.cloud.gateway.ledger.lastSeq;
    const watchMs = this.#options.watchMs ?? WATCH_MS;
    do await this.#until(this.clock.nowMs() + watchMs);
    while (this.steps < this.#scenario.stepsMin && this.violation === null && watchMs > 0);
    // Whoever took an ENI's place keeps it from being attached again: that is tried for as long as pods hold its addresses.
    const counts = (api: string, changed: boolean): boolean => changed || (!this.#disturbed && mutates(api as ApiName));
    const later = this.cloud.gateway.ledger.read(before, null);
    const changes = later.filter(({ api, changed }) => counts(api, changed));
    this.witness.checks += 1;
    if (changes.length > 0)
      this.#report(
        '8',
        `${changes.length} calls at rest that would change something: ${changes.map((one) => one.api).join(', ')}`,
      );
    await this.#lastPods();
  }

  /** Water marks that follow demand go down for some periods after the last pod, and what is idle is given back as they do. */
  async #faded(): Promise<void> {
    const ends = (): number[] =>
      this.nodes.flatMap((node) => {
        const context = node.snapshot('idlePool')?.context as IdlePoolContext | undefined;
        return (context && nextPeriodMs(context)) ?? [];
      });
    if (ends().length === 0) return;
    for (let periods = 0; ends().length > 0 && periods < FADED_PERIODS; periods += 1)
      await this.#until(Math.max(this.clock.nowMs(), ...ends()) + 1);
    await this.#until(this.clock.nowMs() + CALM_MS / 3);
  }

  /** Every node that has an address to give, or may get one, answers one more pod. */
  async #lastPods(): Promise<void> {
    if (this.#disturbed) return;
    for (const node of this.nodes) {
      const room = this.#roomOf(node);
      if (room <= 0) continue;
      let answered = false;
      // One that is content with an address: room for others is none for a pod that wants an ENI.
      const names = ['last', 'end', 'final', 'ultimate'].map((word) => `${word}-${node.index}`);
      const name = names.find((one) => !this.kubelet.wantsOwn(one));
      if (name === undefined) continue;
      void this.kubelet.add(node.index, name, 110_000, null).then((lease) => {
        answered = lease !== null;
      });
      await this.#settled();
      await this.#until(this.clock.nowMs() + 120_000);
      this.witness.checks += 1;
      if (!answered) this.#report('rest', `node ${node.index + 1} has room for ${room} and gave its last pod nothing`);
    }
  }

  /** Addresses that pods may still get on a node. */
  #roomOf(node: SimNode): number {
    const instance = this.#scenario.topology.instances[node.index];
    const type = this.#typeOf(instance?.instanceType);
    if (type === undefined) return 0;
    const perEni = node.settings.ipStack === 'dual' ? Math.min(type.ipv4PerEni, type.ipv6PerEni) : type.ipv4PerEni;
    const enis = Math.min(type.enis - 1, node.settings.maxEnis ?? Number.POSITIVE_INFINITY);
    const kept = node.settings.reservationsYield ? 0 : node.disk.synced('reservations').size;
    // Kept from everybody until the next start, for a lease that could not be read.
    const unknown = node.books.enis.reduce((sum, { context: { book, halves } }) => {
      return sum + book.filter(({ pod }) => pod?.startsWith('unknown:')).length + halves.heldBack.length;
    }, 0);
    // Where a pod has an ENI for itself nobody else has room.
    const own = node.books.enis.filter(({ context }) => isTaken(context.book)).length;
    return enis * perEni - node.disk.synced('leases').size - kept - unknown - own * (perEni - 1);
  }

  #made(eniId: string): void {
    const eni = this.cloud.model.truth(this.clock.nowMs()).enis.find((one) => one.eniId === eniId);
    const token = eni?.tags[REQUEST_TAG];
    if (token !== undefined) this.witness.made.set(token, eniId);
    this.#checkSlots(eniId);
  }

  /** Invariant 5: an ENI was made, so it needs a slot that no other has, also none of ours that is on its way. */
  #checkSlots(eniId: string): void {
    const { enis, instances } = this.cloud.model.truth(this.clock.nowMs());
    const owner = enis.find((eni) => eni.eniId === eniId)?.tags['enactor/instance'];
    const instance = instances.find((one) => one.instanceId === owner);
    if (instance === undefined) {
      this.#report('5', `${eniId} was made with the tags of no instance`);
      return;
    }
    const taken = enis.filter(
      (eni) => eni.instanceId === owner || (eni.instanceId === null && eni.tags['enactor/instance'] === owner),
    );
    // A slot that somebody else took meanwhile cannot be known.
    const { touched, madeLate } = this.witness;
    if (taken.some((eni) => touched.has(eni.eniId) || madeLate.has(eni.eniId))) return;
    this.witness.checks += 1;
    const slots = this.#typeOf(instance.instanceType)?.enis ?? 0;
    if (taken.length > slots)
      this.#report('5', `${eniId} is the ${taken.length}th ENI of ${owner}, which has ${slots} slots`);
  }

  #typeOf(name: string | undefined): InstanceType | undefined {
    return [...this.#scenario.topology.instanceTypes, ...INSTANCE_TYPES].find((one) => one.instanceType === name);
  }

  #checkRest(): void {
    checkRest({
      nodes: this.nodes,
      kubelet: this.kubelet,
      apiServer: this.apiServer,
      cloud: this.cloud,
      witness: this.witness,
      report: this.#report,
      disturbed: this.#disturbed,
    });
  }

  readonly #report: Report = (invariant, what) => {
    this.violation ??= { invariant, what, step: this.steps, atMs: this.clock.nowMs() - this.#scenario.startMs };
  };

  /** Steps until nothing more is due before `untilMs`. */
  async #until(untilMs: number): Promise<void> {
    for (let dueMs = this.clock.nextDueMs(); dueMs !== null && dueMs < untilMs; dueMs = this.clock.nextDueMs()) {
      if (this.violation !== null) return;
      if (this.steps >= this.#stepsMax) return this.#report('rest', `no rest after ${this.#stepsMax} steps`);
      this.clock.fireNext();
      await this.#settled();
    }
    if (untilMs > this.clock.nowMs()) this.clock.jumpTo(untilMs);
  }

  async #settled(): Promise<void> {
    await settle();
    this.steps += 1;
    for (const node of this.nodes) node.check(() => this.kubelet.askers(node));
    this.kubelet.check();
  }

  /** `who`: the actor in an ambush. */
  #decide(decision: Deed, who: AnyActorRef | null): void {
    const node = 'node' in decision ? this.nodes[decision.node] : undefined;
    switch (decision.do) {
      case 'add': {
        const container = containerOf(decision, who);
        if (container !== null) void this.kubelet.add(decision.node, container, decision.withinMs, decision.abortMs);
        return;
      }
      case 'del': {
        const container = containerOf(decision, who);
        if (container !== null) this.kubelet.del(decision.node, container);
        return;
      }
      case 'fate':
        this.kubelet.befall(decision.node, decision.container, decision.fate);
        return;
      case 'pending':
        this.kubelet.pending(decision.node, decision.container);
        return;
      case 'crash':
        node?.arm(decision);
        return;
      case 'restart':
        node?.restart(decision.downMs, decision.drainMs, decision.againMs);
        return;
      case 'defect': {
        if (node === undefined || !node.breakActor(decision.of, decision.which, who)) return;
        const { life } = node;
        life.after(decision.forMs, () => (decision.forMs >= MENDED_MS ? node.mend() : node.restart(1)));
        return;
      }
      case 'callFault': {
        const id = this.cloud.gateway.faults.plant(decision.fault);
        this.clock.after(decision.forMs, () => this.cloud.release(id));
        return;
      }
      case 'lateCalls': {
        if (node === undefined) return;
        const end = node.mishaps.lateCalls.plan(decision.calls, () => {
          for (const { afterMs, deed } of decision.next) this.clock.after(afterMs, () => this.#decide(deed, null));
        });
        this.clock.after(decision.forMs, end);
        return;
      }
      case 'portFault':
        if (node !== undefined) node.mishaps.failing[decision.port] = decision.times;
        return;
      case 'lose':
        node?.lose(decision.what, decision.which, decision.downMs);
        return;
      case 'reboot':
        node?.reboot(decision.kept, decision.downMs);
        this.kubelet.rebooted(decision.node);
        return;
      case 'lapse':
        node?.mishaps.lapse.arm(decision.of);
        return;
      case 'stuck':
        if (node === undefined) return;
        node.devices.stuck = true;
        this.clock.after(decision.forMs, () => {
          node.devices.stuck = false;
        });
        return;
      case 'slowApi':
        this.#slowed(node, 'slowApiMs', decision.ms, decision.forMs);
        return;
      case 'slowStore':
        this.#slowed(node, 'slowStoreMs', decision.ms, decision.forMs);
        return;
      case 'away':
        node?.mishaps.away(decision.who, decision.forMs);
        return;
      case 'settings':
        node?.change(decision.changed);
        return;
      case 'lookNow':
        node?.lookNow(decision.command);
        return;
      case 'cordon':
        node?.cordon(decision.cordoned);
        return;
      case 'shortLists':
        if (node !== undefined) node.mishaps.shortLists = decision.times;
        return;
      case 'drift':
        this.#hosts[decision.node]?.spoil(decision.flaw, decision.which);
        return;
      case 'unplug':
        node?.unplug(
          decision.which === MET_ENI ? (eniOf(who)?.mac?.toLowerCase() ?? '') : decision.which,
          decision.forMs,
        );
        return;
      case 'slowTurns':
        this.#slowed(node, 'slowTurnsMs', decision.ms, decision.forMs);
        return;
      case 'lateDevices':
        this.#slowed(node, 'lateDevicesMs', decision.lateMs, decision.forMs);
        return;
      case 'drySwitch':
        this.#drySwitch(decision.vSwitch, decision.forMs);
        return;
      case 'outOfBand':
        if (node !== undefined) this.#outOfBand(node, decision, who);
        return;
      case 'takeBack':
        if (node !== undefined) this.issuers?.takeBack(decision.kind, node.instanceId);
        return;
      case 'kubeletSleeps':
        if (node !== undefined) this.issuers?.kubeletSleeps(node.instanceId, decision.forMs);
        return;
      case 'look':
        this.#options.onLook?.(this);
        return;
      case 'ambush':
        node?.ambush(decision.state, decision.nth, (met) => {
          for (const deed of decision.deeds) this.#decide(deed, met);
        });
    }
  }

  #slowed(
    node: SimNode | undefined,
    what: 'slowTurnsMs' | 'slowApiMs' | 'slowStoreMs' | 'lateDevicesMs',
    ms: number,
    forMs: number,
  ): void {
    if (node === undefined) return;
    node.mishaps[what] = ms;
    this.clock.after(forMs, () => {
      node.mishaps[what] = 0;
    });
  }

  #drySwitch(index: number, forMs: number): void {
    const vSwitchId = this.#scenario.topology.vSwitches[index]?.vSwitchId;
    if (vSwitchId === undefined) return;
    const { model } = this.cloud;
    model.change({ change: 'withhold', vSwitchId, addresses: 10_000 }, this.clock.nowMs());
    this.clock.after(
      forMs,
      () => void model.change({ change: 'withhold', vSwitchId, addresses: 0 }, this.clock.nowMs()),
    );
  }

  #outOfBand(node: SimNode, { change, which }: Deed & { do: 'outOfBand' }, who: AnyActorRef | null): void {
    const { model } = this.cloud;
    const nowMs = this.clock.nowMs();
    const ours = model.truth(nowMs).enis.filter((eni) => eni.type !== 'Primary' && eni.instanceId === node.instanceId);
    const met = eniOf(who)?.eniId;
    const eni = met === undefined ? ours[which % Math.max(1, ours.length)] : ours.find((one) => one.eniId === met);
    this.#disturbed = true;
    let made: Change;
    if (change === 'foreignEni' || change === 'strayEni') {
      const isStray = change === 'strayEni';
      made = {
        change: 'createEni',
        vSwitchId: 'vsw-lab-1',
        securityGroupIds: ['sg-lab'],
        instanceId: isStray && which % 2 === 0 ? null : node.instanceId,
        secondaries: 1,
        ipv6: isStray && this.#scenario.stack !== 'ipv4' ? 2 : 0,
        tags: isStray ? { ...ownTags('', node.instanceId), [REQUEST_TAG]: `given-up-${which}` } : {},
        serviceManaged: false,
      };
    } else {
      if (eni === undefined) return;
      this.witness.touched.add(eni.eniId);
      const family = this.#scenario.stack !== 'ipv4' && which % 2 === 1 ? 6 : 4;
      const secondaries = family === 6 ? eni.ipv6 : eni.ipv4.slice(1);
      const ip = secondaries[which % Math.max(1, secondaries.length)];
      if (change === 'unassign') {
        if (ip === undefined) return;
        made = { change, eniId: eni.eniId, ips: [ip] };
      } else if (change === 'assign') made = { change, eniId: eni.eniId, family, want: { count: 1 } };
      else {
        made =
          change === 'deletingEni'
            ? { change: 'setEniStatus', eniId: eni.eniId, status: 'Deleting', forMs: 5_000 }
            : { change, eniId: eni.eniId };
        for (const one of [...eni.ipv4, ...eni.ipv6]) this.witness.lost(one);
      }
    }
    this.witness.outOfBand = true;
    try {
      for (const id of model.change(made, nowMs)) if (id.startsWith('eni-')) this.witness.touched.add(id);
    } catch {
      // The cloud has no room for it, or it is gone: then nothing was changed.
    } finally {
      this.witness.outOfBand = false;
    }
    this.cloud.touched();
  }
}

const eniOf = (who: AnyActorRef | null): EniSnapshot['context'] | undefined =>
  who?.id.startsWith('eni:') === true ? (who.getSnapshot() as EniSnapshot).context : undefined;

/** Null: nobody's, as the sandbox that an address is held back for is none that kubelet knows. */
function containerOf({ container }: { readonly container: string }, who: AnyActorRef | null): string | null {
  if (container !== MET) return container;
  const met = /^lease:(.*)\/eth0$/.exec(who?.id ?? '')?.[1] ?? null;
  return isHeldBackFor(met) ? null : met;
}
