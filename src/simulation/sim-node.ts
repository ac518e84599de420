/**
 * One node of the world: its disk and its kernel, which outlive the daemon, and the life of the daemon over them.
 *
 * The daemon is the production one from its actors up: `startNode` with fakes for ports and virtual timers.
 */
import type { AnyActorRef, AnyMachineSnapshot, InspectionEvent } from 'xstate';
import { letHeldBackGo } from '../../actors/held-back.ts';
import { type NodeSystem, startNode } from '../../actors/node.ts';
import type { NodePorts } from '../../actors/ports.ts';
import { REQUEST_TAG } from '../../actors/tags.ts';
import { type EniContext, tokenOf } from '../../statecharts/eni-context.ts';
import { type EniFactoryContext, placesOf } from '../../statecharts/eni-factory-context.ts';
import type { IdlePoolContext } from '../../statecharts/idle-pool-context.ts';
import type { NodeContext } from '../../statecharts/node.ts';
import { type EniSummary, givesNow } from '../core/eni-summary.ts';
import { surplusSlots } from '../core/over-quota.ts';
import type { Settings } from '../core/settings.ts';
import type { NodeCommand } from '../ports/introspection.ts';
import type { Log } from '../ports/log.ts';
import type { EniView } from '../vpc/requests.ts';
import { checkAgreement, checkPlans, type Supervisors, timersIn } from './agreement.ts';
import { Ambushes } from './ambushes.ts';
import { type BooksOwner, BookWatch, type EniSnapshot } from './book-watch.ts';
import { CallWatch } from './call-watch.ts';
import { Conduct } from './conduct.ts';
import { CrashDisk } from './crash-store.ts';
import type { Changed, CrashPoint } from './deed.ts';
import { FakeHost } from './fake-host.ts';
import type { FakeKubernetes } from './fake-kubernetes.ts';
import { FakeSandboxes } from './fake-sandboxes.ts';
import { Life } from './life.ts';
import type { Issuers } from './lifetimes.ts';
import { Mishaps, PLANTED_DEFECT } from './mishaps.ts';
import { portsOf } from './node-ports.ts';
import { reachable } from './outages.ts';
import { checkOwners } from './owners.ts';
import { Patience } from './patience.ts';
import { HostDevices } from './plugged-kernel.ts';
import { RecordWatch } from './record-watch.ts';
import { Seeded } from './seeded.ts';
import { checkSettings } from './settings-watch.ts';
import { StandStill } from './stand-still.ts';
import type { Trace } from './trace.ts';
import type { Report } from './violation.ts';
import type { VirtualCloud } from './virtual-cloud.ts';
import type { Witness } from './witness.ts';

export type Crash = {
  readonly point: CrashPoint;
  readonly nth: number;
  readonly downMs: number;
  readonly kept: number;
};

/** Of an inspector: `node` counts from 0, `life` from 1. */
export type Heard = {
  readonly node: number;
  readonly life: number;
  readonly event: InspectionEvent;
  readonly atMs: number;
};

export type SimNodeOptions = {
  readonly index: number;
  readonly instanceId: string;
  readonly settings: Settings;
  /** Its first life is single stack, and every later one dual. */
  readonly turnsDual: boolean;
  readonly seed: number;
  readonly cloud: VirtualCloud;
  readonly apiServer: FakeKubernetes;
  /** null: nothing that opens doors ends. */
  readonly issuers: Issuers | null;
  readonly witness: Witness;
  readonly trace: Trace;
  readonly report: Report;
  /** A fault of the program itself, for tests that ask whether the simulation finds it. */
  readonly plant: (ports: NodePorts) => NodePorts;
  /** For a person who looks at one seed. */
  readonly log: Log;
  /** Hears of everything in each life of the actors. */
  readonly onHeard?: (heard: Heard) => void;
  /** The daemon has ended; its callers have to be told. */
  readonly onEnd: () => void;
  /** Records of its disk are lost: of one sandbox, or all. */
  readonly onLost: (sandbox: string | null) => void;
};

/** What runs the process waits for so long before it starts it again. */
const RESPAWN_MS = 1_000;
/** Between two looks at what is held back. */
const LET_GO_MS = 5_000;
/** After a configuration could not be taken. */
const CHANGE_RETRY_MS = 2_000;
/** Beyond the time to drain: the writes that were under way. */
const STOP_GRACE_MS = 5_000;
/** What the timer of a rest may be late. */
const REST_GRACE_MS = 1_000;

export class SimNode {
  readonly index: number;
  readonly instanceId: string;
  settings: Settings;
  readonly disk = new CrashDisk();
  readonly devices = new HostDevices();
  readonly host = new FakeHost(
    () => this.devices.links,
    () => this.devices.hostPods,
  );
  /** Of which sandboxes nothing is left. */
  readonly sandboxes = new FakeSandboxes();
  readonly mishaps: Mishaps;
  /** How often records of its disk were lost. */
  losses = 0;
  /** Some call of this life's kernel has failed: it may be without its events. */
  get deaf(): boolean {
    return this.mishaps.kernelFailedIn === this.life;
  }
  /** Lines of the log since the step began. */
  #said = 0;
  /** It was told a setting in this step. */
  #unsettled = false;
  /** Boots so far. */
  boots = 1;
  /** Addresses offered although they had not rested, by any life. */
  readonly coolingOffered = new Set<string>();
  #cordoned = false;
  lives = 0;
  life: Life;
  system: NodeSystem | null = null;
  books: BookWatch;
  #still: StandStill;
  #conduct: Conduct;
  #calls: CallWatch | null = null;
  /** An actor of this life was made to die. */
  defective = false;
  #children: AnyActorRef[] = [];
  /** The singletons of this life by chart. */
  readonly #actors = new Map<string, AnyActorRef>();
  readonly #options: SimNodeOptions;
  readonly #records: RecordWatch;
  readonly #chance: Seeded;
  #dirty = false;
  /** A change of the settings is under way. */
  #taking = false;
  /** Actors that were made to die and are there yet, or whose death the process does not outlive. */
  readonly #doomed = new Set<AnyActorRef>();
  /** When a supervisor was made to die: the process has to end by itself. */
  #diedMs: number | null = null;
  /** A supervisor was made to die. */
  #wounded = false;
  /** All that were. */
  readonly #broken = new WeakSet<AnyActorRef>();
  #patience: Patience;
  readonly #ambushes = new Ambushes();
  #armed: { crash: Crash; left: number } | null = null;

  constructor(options: SimNodeOptions) {
    this.#options = options;
    this.index = options.index;
    this.instanceId = options.instanceId;
    this.settings = options.settings;
    this.#chance = new Seeded(options.seed, `node ${options.index}`);
    this.life = new Life(0, options.cloud.clock);
    this.life.end();
    this.books = new BookWatch(
      options.witness,
      options.report,
      this.coolingOffered,
      this.#booksOwner,
      this.life.nowMs(),
    );
    this.#still = new StandStill(options.settings, options.report);
    this.#conduct = new Conduct(options.settings, options.report);
    this.#patience = new Patience(options.settings, options.report);
    this.mishaps = new Mishaps(options.cloud.clock.nowMs);
    this.sandboxes.hidden = () => this.mishaps.lapse.isOf('host');
    const { apiServer, witness, report, cloud } = options;
    const { nodeName } = options.settings;
    this.#records = new RecordWatch({
      ...{ node: this.index, nodeName, devices: this.devices, apiServer, witness, report },
      nowMs: cloud.clock.nowMs,
    });
    this.devices.onReturn = (mac) => this.#plugIfThere(mac);
    options.cloud.model.subscribe((event) => {
      if (event.type === 'attached' && event.instanceId === this.instanceId) {
        const { mac } = event;
        if (this.mishaps.lateDevicesMs === 0) this.devices.plug(mac);
        else options.cloud.clock.after(this.mishaps.lateDevicesMs, () => this.#plugIfThere(mac));
      }
      if (event.type === 'detached' && event.instanceId === this.instanceId) this.devices.unplug(event.mac);
    });
  }

  /** The host loses the device of an ENI alone, the one with this MAC or one of them, and gets it back. */
  unplug(which: number | string, forMs: number): void {
    const macs = [...this.devices.tables.keys()].filter((mac) => this.devices.macs.has(mac));
    const mac = typeof which === 'string' ? macs.find((one) => one === which) : macs[which % Math.max(1, macs.length)];
    if (mac === undefined) return;
    this.devices.unplug(mac);
    this.#options.cloud.clock.after(forMs, () => this.#plugIfThere(mac));
  }

  #plugIfThere(mac: string): void {
    const { model, clock } = this.#options.cloud;
    const eni = model.truth(clock.nowMs()).enis.find((one) => one.mac === mac);
    if (eni?.plugged === true && eni.instanceId === this.instanceId) this.devices.plug(mac);
  }

  get up(): boolean {
    return !this.life.over;
  }

  start(): void {
    if (this.up) return;
    this.lives += 1;
    if (this.#options.turnsDual && this.lives > 1) this.settings = { ...this.settings, ipStack: 'dual' };
    const life = new Life(this.lives, this.#options.cloud.clock);
    this.life = life;
    this.#actors.clear();
    this.#children = [];
    this.defective = false;
    this.#taking = false;
    this.#doomed.clear();
    this.#diedMs = null;
    this.#wounded = false;
    this.books = new BookWatch(
      this.#options.witness,
      this.#options.report,
      this.coolingOffered,
      this.#booksOwner,
      this.life.nowMs(),
    );
    this.#still = new StandStill(this.settings, this.#options.report);
    this.#conduct = new Conduct(this.settings, this.#options.report);
    this.#patience = new Patience(this.settings, this.#options.report);
    this.#dirty = true;
    this.#options.trace.line(this.index, 'process', 'start', life.nowMs());
    const { trace, report } = this.#options;
    const own = this.#ports(life);
    const cloud = reachable(own.cloud, () => this.mishaps.isAway('cloud'));
    const ports = this.#options.plant({ ...own, cloud });
    const system = startNode({
      ports,
      settings: this.settings,
      clock: life.timers as unknown as NonNullable<Parameters<typeof startNode>[0]['clock']>,
      inspect: (event) => {
        if (life.over) return;
        this.#options.onHeard?.({ node: this.index, life: life.number, event, atMs: life.nowMs() });
        if (event.type === '@xstate.microstep') {
          this.#dirty = true;
          trace.microstep(this.index, event, life.nowMs());
          this.#ambushes.meet(event);
          const ref = event.actorRef as AnyActorRef;
          const snapshot = event.snapshot as AnyMachineSnapshot;
          const { id: chart } = (ref as unknown as { logic: { id?: string } }).logic; // not in XState's type of a reference
          if (chart !== undefined && this.#keepsItsWord(ref))
            this.#watched(ref, chart, snapshot, event.event, life.nowMs());
          if (ref.id.startsWith('eni:'))
            this.books.observe(ref, event.snapshot as Parameters<BookWatch['observe']>[1], this.index, life.nowMs());
        } else if (event.type === '@xstate.actor') this.#note(event.actorRef as AnyActorRef);
      },
    });
    if (life.over) return;
    this.system = system;
    if (this.#cordoned) system.cordon(true);
    this.#letGo(system, ports, life);
    void system.failed.then((error) => {
      if (life.over) return;
      // Whoever runs the process starts it again.
      if (this.defective) {
        if (this.#diedMs === null)
          report('alive', `node ${this.index + 1} ended of the death of one ENI or lease: ${error.message}`);
        if (!/leases|idlePool|eniFactory|garbageCollector|Keeper/.test(error.message))
          report('alive', `node ${this.index + 1} failed and does not say of what: ${error.message}`);
        this.#end(1, RESPAWN_MS);
      } else report('alive', `node ${this.index + 1} failed: ${error.message}`);
    });
  }

  /** Who was made to die does not; and of a supervisor, nobody may. */
  #keepsItsWord(ref: AnyActorRef): boolean {
    return !this.#wounded && !this.#broken.has(ref);
  }

  #watched(ref: AnyActorRef, chart: string, snapshot: AnyMachineSnapshot, event: object, nowMs: number): void {
    this.#still.observe(ref, chart, snapshot, event, nowMs);
    this.#conduct.observe(ref, chart, snapshot, event, nowMs);
    const { type } = event as { readonly type: string };
    if (chart === 'node' && (type === 'settings' || type === 'cordoned')) this.#unsettled = true;
    if (/^xstate\.error\.actor\.(eni|lease):/.test(type) && !this.defective)
      this.#options.report('alive', `${type.slice('xstate.error.actor.'.length)} died of itself`);
    if (chart === 'eni' && snapshot.value === 'gone') this.#left((snapshot as EniSnapshot).context);
  }

  /** Whoever lets go of an ENI of ours for good has made sure of it. */
  #left(context: EniContext): void {
    const { eniId, ours, slot } = context;
    const { cloud, witness, report } = this.#options;
    const token = tokenOf(context);
    const isIt = (eni: EniView): boolean => (eniId === null ? eni.tags[REQUEST_TAG] === token : eni.eniId === eniId);
    const eni = cloud.model.truth(cloud.clock.nowMs()).enis.find(isIt);
    if (!ours || eni === undefined || witness.touched.has(eni.eniId) || witness.madeLate.has(eni.eniId)) return;
    if (eni.tags['enactor/instance'] !== this.instanceId) return;
    report('6', `eni:${slot} of node ${this.index + 1} is gone, and ${eni.eniId} is there and ${eni.status}`);
  }

  /** As the daemon does, only less often. */
  #letGo(system: NodeSystem, ports: NodePorts, life: Life): void {
    const { host, kubernetes, store, log } = ports;
    const { nodeName } = this.settings;
    const parts = { ...system, host, kubernetes, store, nodeName, log };
    const pass = async (): Promise<void> => {
      if (life.over) return;
      const held = Object.keys(this.snapshot('leases')?.children ?? {}).some((id) => id.startsWith('lease:held-back:'));
      const left = !this.serving ? 1 : held ? await letHeldBackGo(parts, new AbortController().signal) : 0;
      if (left > 0) life.after(LET_GO_MS, () => void pass());
    };
    life.after(LET_GO_MS, () => void pass());
  }

  /** The daemon ends, and with it all that the disk held, or one of the leases on it. False when there is nothing to lose. */
  lose(what: 'store' | 'lease', which: number, downMs: number): boolean {
    if (!this.up) return false;
    const { cloud, witness } = this.#options;
    // Of what was asked for and lost with the store nothing could be known: it is carried out before the next life looks.
    this.#crash({ point: 'now', nth: 1, kept: 1, downMs });
    cloud.hasten();
    const leases = [...this.disk.synced('leases').keys()];
    const sandbox = leases[which % Math.max(1, leases.length)];
    if (what === 'lease' && sandbox === undefined) return false;
    this.losses += 1;
    if (what === 'store') {
      this.disk.clear();
      this.#records.lost();
      witness.recordsLost(this.index, null);
      this.#options.onLost(null);
    } else if (sandbox !== undefined) {
      const unreadable = which % 2 === 1 && this.devices.pods.get(sandbox)?.marked === true;
      this.disk.lose('leases', sandbox, unreadable ? 'unreadable' : 'gone');
      witness.recordsLost(this.index, sandbox);
      this.#options.onLost(sandbox);
    }
    return true;
  }

  /** The host is booted: the daemon, and all sandboxes, end without a word. */
  reboot(kept: number, downMs: number): void {
    if (this.up) this.#crash({ point: 'now', nth: 1, kept, downMs });
    this.boots += 1;
    this.host.boot = `boot-${this.boots}`;
    this.devices.reboot();
  }

  #note(ref: AnyActorRef): void {
    const chart = (ref as unknown as { logic: { id?: string } }).logic.id; // not in XState's type of a reference
    if (chart === undefined) return;
    if (chart === 'eni') this.books.note(ref);
    else if (chart !== 'lease') this.#actors.set(chart, ref);
    if (chart === 'eni' || chart === 'lease') this.#children.push(ref);
  }

  /** The next thing this actor hears kills it: `who`, or one of a kind. False when there is none. */
  breakActor(of: 'eni' | 'lease' | 'supervisor', which: number, who: AnyActorRef | null): boolean {
    const known =
      of === 'supervisor'
        ? [...this.#actors].filter(([chart]) => chart !== 'node').map(([, ref]) => ref)
        : this.#children.filter((ref) => ref.id.startsWith(of) && ref.getSnapshot().status === 'active');
    const met = of === 'supervisor' || who?.id.startsWith(`${of}:`) === true ? who : null;
    const ref = met ?? known[which % Math.max(1, known.length)];
    if (ref === undefined || ref.getSnapshot().status !== 'active' || !this.up) return false;
    type Transition = (snapshot: unknown, event: { readonly type: string }, scope: unknown) => unknown;
    if (of === 'supervisor') this.#wounded = true;
    this.#broken.add(ref);
    const broken = ref as unknown as { logic: { readonly transition: Transition } }; // not in XState's type of a reference
    const { logic } = broken;
    broken.logic = Object.assign(Object.create(logic), {
      transition: (...heard: Parameters<Transition>) => {
        // Whoever is told to end does so.
        if (heard[1].type === 'xstate.stop') return logic.transition(...heard);
        if (of !== 'supervisor') this.#doomed.delete(ref);
        else this.#diedMs = this.life.nowMs();
        throw new Error(PLANTED_DEFECT);
      },
    });
    this.defective = true;
    this.#doomed.add(ref);
    this.#options.trace.line(this.index, ref.id, 'defect', this.life.nowMs());
    return true;
  }

  /**
   * A while after an actor was made to die: where another one has taken its place the node has to be whole again by itself; where it is
   * still there, or was a supervisor, the process is started again.
   */
  mend(): void {
    if (!this.defective) return;
    if (this.#doomed.size > 0) {
      this.restart(1);
      return;
    }
    this.defective = false;
    this.#dirty = true;
    // What went on meanwhile was not looked at.
    this.#calls?.mended();
    this.#still = new StandStill(this.settings, this.#options.report);
    this.#conduct = this.#conduct.anew(this.settings);
    this.#patience = new Patience(this.settings, this.#options.report);
    this.#options.trace.line(this.index, 'process', 'mended', this.life.nowMs());
  }

  /** The configuration is another one from now on. What the running daemon cannot take at the moment it takes later. */
  change(changed: Changed): void {
    this.settings = { ...this.settings, ...changed };
    this.#options.trace.line(this.index, 'process', 'settings', this.life.nowMs());
    // As the daemon does: one change after the other.
    if (!this.#taking) void this.#takeSettings(this.life);
  }

  async #takeSettings(life: Life): Promise<void> {
    const { system, settings } = this;
    if (life.over || life !== this.life || system === null) return;
    this.#taking = true;
    try {
      await system.changeSettings(settings, new AbortController().signal);
      const taken = (this.snapshot('node')?.context as NodeContext | undefined)?.settings;
      if (life === this.life && !life.over && !this.#wounded && this.settings === settings && taken !== settings)
        this.#options.report('alive', `node ${this.index + 1} was told its settings, and goes by others`);
    } catch {
      life.after(CHANGE_RETRY_MS, () => void this.#takeSettings(life));
      return;
    }
    if (life !== this.life) return;
    this.#taking = false;
    if (this.settings !== settings) void this.#takeSettings(life);
  }

  /** Refused while those who would be told are not there. */
  lookNow(command: NodeCommand): void {
    if (this.serving) this.system?.introspection.command(command);
  }

  /** What the API server says of the node, to every life. */
  cordon(cordoned: boolean): void {
    this.#cordoned = cordoned;
    this.system?.cordon(cordoned);
    this.#unsettled = true;
    this.#dirty = true;
  }

  /** All that are alive. */
  get actors(): readonly AnyActorRef[] {
    const all = [...this.#actors.values(), ...this.#children];
    return all.filter((ref) => ref.getSnapshot()?.status === 'active');
  }

  /** The snapshot of a singleton of this life; undefined before it exists. */
  snapshot(chart: 'kernelKeeper' | 'node' | 'eniFactory' | 'idlePool' | 'leases'): AnyMachineSnapshot | undefined {
    return this.#actors.get(chart)?.getSnapshot() as AnyMachineSnapshot | undefined;
  }

  readonly #booksOwner: BooksOwner = {
    idle: () => this.#idle(),
    isDegraded: () => this.snapshot('node')?.matches({ running: 'degraded' }) === true,
  };

  /** Addresses that the factory may still give out at once. */
  #idle(): number {
    const context = this.snapshot('eniFactory')?.context as EniFactoryContext | undefined;
    if (context === undefined) return 0;
    // An ENI that nobody uses may be kept for a pod that wants it for itself.
    const kept = context.waiting.some(({ ownEni }) => ownEni === true);
    const isUsed = ({ counts }: EniSummary): boolean => counts.offered + counts.bound + counts.reserved > 0;
    // One that the instance type does not allow goes, and gets no pods.
    const surplus = surplusSlots(Object.values(context.enis), placesOf(context));
    const usable = Object.values(context.enis).filter(
      (eni) => givesNow(eni) && !surplus.has(eni.slot) && (!kept || isUsed(eni)),
    );
    return usable.reduce((sum, { counts }) => sum + counts.idle, 0);
  }

  get serving(): boolean {
    return this.up && this.snapshot('node')?.matches({ running: 'serving' }) === true;
  }

  /** Requests are passed on to the actors: it serves, or makes do with what it remembers. */
  get answering(): boolean {
    const node = this.snapshot('node');
    const degraded = node?.matches({ running: 'degraded' }) === true;
    return this.serving || (this.up && degraded && !node.matches({ running: { degraded: 'quieting' } }));
  }

  /** Invariants of this node's books, if anything has moved since the last time. */
  check(callers: () => number): void {
    if (!this.up) return;
    if (this.#diedMs !== null)
      this.#options.report('alive', `a supervisor of node ${this.index + 1} has died, and the process goes on`);
    if (this.#diedMs === null && !this.#wounded) {
      this.#still.check(this.life.nowMs());
      this.#conduct.check(() => this.books.enis.map(({ context }) => context), this.#said);
    }
    this.#said = 0;
    this.#checkSettings();
    if (!this.#dirty) return;
    this.#dirty = false;
    this.books.checkRests(this.life.nowMs() - REST_GRACE_MS);
    if (!this.defective && this.serving)
      this.#patience.check({
        enis: this.books.enis,
        records: this.disk.synced('reservations'),
        factory: this.snapshot('eniFactory')?.context as EniFactoryContext | undefined,
        pool: this.snapshot('idlePool')?.context as IdlePoolContext | undefined,
        nowMs: this.life.nowMs(),
      });
    const waiting = (this.snapshot('eniFactory')?.context.waiting as unknown[] | undefined)?.length ?? 0;
    this.#options.witness.checks += 1;
    const max = this.settings.waitingMax;
    if (waiting > max) this.#options.report('9', `${waiting} requests wait on node ${this.index + 1}, over ${max}`);
    this.#options.witness.checks += checkOwners(
      `node ${this.index + 1}`,
      this.books.enis.map(({ context }) => context),
      this.#options.witness.made,
      this.#options.report,
    );
    this.#checkAgreement(callers);
  }

  #checkSettings(): void {
    if (!this.#unsettled) return;
    this.#unsettled = false;
    const { report, witness } = this.#options;
    const node = this.snapshot('node')?.context as NodeContext | undefined;
    if (!this.serving || this.#wounded || node === undefined) return;
    const enis = this.books.enis.map(({ context }) => context);
    witness.checks += checkSettings(node, this.#actors, enis, report);
    if (node.cordoned !== this.#cordoned) report('alive', `node ${this.index + 1} does not hear that it is cordoned`);
  }

  /** An actor that was made to die does not keep its word; what goes on beside it does. */
  #checkAgreement(callers: () => number): void {
    if (this.snapshot('node')?.matches('running') !== true || this.#wounded) return;
    const [factory, pool, leases] = [this.snapshot('eniFactory'), this.snapshot('idlePool'), this.snapshot('leases')];
    if (factory === undefined || pool === undefined || leases === undefined) return;
    const { witness, report } = this.#options;
    const timers = timersIn(this.#actors.get('idlePool') as AnyActorRef);
    const factoryTimers = timersIn(this.#actors.get('eniFactory') as AnyActorRef);
    const all = { factory, pool, leases, timers, factoryTimers } as unknown as Supervisors;
    const nowMs = this.life.nowMs();
    if (!this.defective) witness.checks += checkAgreement(`node ${this.index + 1}`, all, callers(), nowMs, report);
    else if (this.#doomed.size === 0) witness.checks += checkPlans(`node ${this.index + 1}`, all, nowMs, report);
  }

  arm(crash: Crash): void {
    if (crash.point === 'now') this.#crash(crash);
    else this.#armed = { crash, left: crash.nth };
  }

  /** Its callers are turned away; whatever it was about to write has been written. */
  restart(downMs: number, drainMs = 0, againMs: number | null = null): void {
    const { system, life } = this;
    if (!this.up || system === null) return;
    this.#options.trace.line(this.index, 'process', 'stop', life.nowMs());
    life.after(drainMs + STOP_GRACE_MS, () =>
      this.#options.report(
        'alive',
        `node ${this.index + 1} does not stop ${drainMs + STOP_GRACE_MS} ms after it was told to`,
      ),
    );
    void system.stop(drainMs).then(() => {
      if (life.over) return;
      const { value } = this.snapshot('node') ?? {};
      if (value !== 'stopped' && !this.defective)
        this.#options.report('alive', `node ${this.index + 1} was ended in ${JSON.stringify(value)}`);
      this.#end(1, downMs);
      if (againMs !== null) this.#options.cloud.clock.after(downMs + againMs, () => this.restart(1));
    });
  }

  disarm(): void {
    this.#armed = null;
    this.#ambushes.clear();
  }

  /** Calls `strike` the nth time from now on that an actor enters the state, in a step of its own while it is in it. */
  ambush(state: string, nth: number, strike: (met: AnyActorRef) => void): void {
    this.#ambushes.lay(state, nth, (met) => void this.life.after(0, () => strike(met)));
  }

  #pass(point: CrashPoint): void {
    const armed = this.#armed;
    if (armed === null || armed.crash.point !== point) return;
    armed.left -= 1;
    if (armed.left === 0) this.#crash(armed.crash);
  }

  #crash({ point, kept, downMs }: Crash): void {
    this.#armed = null;
    if (!this.up) return;
    this.#options.trace.line(this.index, 'process', `crash ${point}`, this.life.nowMs());
    this.#end(kept, downMs);
  }

  #end(kept: number, downMs: number): void {
    const { witness, cloud, onEnd } = this.#options;
    this.life.end();
    this.system = null;
    this.disk.crash(Math.round(kept * this.disk.pending));
    witness.recovered(this.index, this.disk.synced('leases'));
    onEnd();
    cloud.clock.after(downMs, () => this.start());
  }

  #ports(life: Life): NodePorts {
    const { cloud, witness, report, log } = this.#options;
    const calls = new CallWatch({
      node: this.index,
      instanceId: this.instanceId,
      cloud,
      witness,
      report,
      periodMs: Math.min(this.settings.describePeriodMs, this.settings.backoffMs),
      defective: () => this.defective,
    });
    this.#calls = calls;
    const { index, instanceId, disk, devices, host, sandboxes, mishaps, settings } = this;
    return portsOf({
      ...this.#options,
      ...{ index, instanceId, life, settings, disk, devices, host, sandboxes, mishaps, calls },
      ...{ records: this.#records, chance: this.#chance, log: this.#hearing(log) },
      pass: (point) => this.#pass(point),
    });
  }

  /** What is said to people is counted. */
  #hearing(log: Log): Log {
    const heard =
      (level: 'info' | 'warn' | 'error'): Log[typeof level] =>
      (fields, message) => {
        this.#said += 1;
        log[level](fields, message);
      };
    return { debug: log.debug, info: heard('info'), warn: heard('warn'), error: heard('error') };
  }
}
