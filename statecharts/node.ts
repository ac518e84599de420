/**
 * The root: starting (who am I, what may I own) → recovering (what is there already) → running.serving → draining → stopped; running.degraded
 * while who should tell it is away.
 *
 * It has no policy of its own: it gathers what the others need, invokes them together, and turns callers away with a reason while
 * that is not done. A step that fails is tried again for as long as it takes, since the socket answers meanwhile.
 *
 * The surprising choice: what is remembered of this boot (remembering) is served by the same actors as the truth is, over books
 * that they may not change in the cloud; and once the truth can be had they end, and others begin from it as after any start. What they
 * did is on disk, so nothing has to be carried over, and there is one way only in which an address comes to be in a book.
 */
import { type ActorRefFrom, assign, enqueueActions, type PromiseActorLogic, sendTo, setup } from 'xstate';
import type { CloudEni } from '../src/core/eni.ts';
import { type Failure, failureOf } from '../src/core/errors.ts';
import { factorySettingsOf } from '../src/core/factory-settings.ts';
import { kernelKeeperSettingsOf } from '../src/core/keeper-settings.ts';
import type { Lease } from '../src/core/lease.ts';
import { managedMax } from '../src/core/managed-enis.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import { poolSettingsOf } from '../src/core/pool-settings.ts';
import type { SandboxKey } from '../src/core/sandbox.ts';
import type { Settings } from '../src/core/settings.ts';
import type { AdoptedEni } from './adopted-eni.ts';
import type { At } from './at.ts';
import type { CloudKeeperSettings, cloudKeeperMachine } from './cloud-keeper.ts';
import type { eniFactoryMachine } from './eni-factory.ts';
import type { EniFactoryInput } from './eni-factory-context.ts';
import type { garbageCollectorMachine } from './garbage-collector.ts';
import type { GarbageCollectorSettings } from './garbage-collector-context.ts';
import type { idlePoolMachine } from './idle-pool.ts';
import type { IdlePoolInput } from './idle-pool-context.ts';
import type { kernelKeeperMachine } from './kernel-keeper.ts';
import type { leasesMachine } from './leases.ts';
import type { Answer, Ask, Forget, NodeEvent, Release } from './messages.ts';
import {
  CLOUD_KEEPER,
  ENI_FACTORY,
  eniFactoryIn,
  GARBAGE_COLLECTOR,
  IDLE_POOL,
  idlePoolIn,
  KERNEL_KEEPER,
  LEASES,
  leasesIn,
} from './receptionist.ts';

/** What an earlier life left. */
export type Recovered = {
  readonly leases: readonly Lease[];
  /** Those of them whose sandbox is gone for sure: they are to be released. */
  readonly dead?: readonly SandboxKey[];
  readonly enis: readonly AdoptedEni[];
  /** ENIs on the instance that are not ours to use. */
  readonly foreignEnis: number;
  /** All of it is from memory: nothing may be changed in the cloud on the strength of it. */
  readonly unconfirmed?: boolean;
};

/** What is known without the cloud. */
export type Remembered = { readonly facts: NodeFacts; readonly recovered: Recovered };

/** What the cloud tells: of the instance, by our tags, and by the ids that open intents name. */
export type SeenEnis = {
  readonly askedMs: number;
  readonly attached: readonly CloudEni[];
  readonly tagged: readonly CloudEni[];
  readonly byId: readonly CloudEni[];
};

/** `seen`: what was looked up already; null to have it looked up. */
export type RecoverInput = { readonly facts: NodeFacts; readonly settings: Settings; readonly seen: SeenEnis | null };

export type NodeInput = {
  readonly settings: Settings;
  /** Prefix of the tokens of this process's cloud calls. */
  readonly token: string;
};

export type NodeContext = NodeInput & {
  readonly facts: NodeFacts | null;
  readonly recovered: Recovered | null;
  readonly seen: SeenEnis | null;
  /** Nothing is scheduled to the node. */
  readonly cordoned: boolean;
  /** It was looked what is remembered. */
  readonly recalled: boolean;
  readonly nowMs: number;
  readonly failures: number;
  /**
   * How often the ENIs' actors were made anew, the truth having come after what was remembered: the calls of each making have names of
   * their own, since the cloud answers a ClientToken that it knows with what it gave then, which may be gone.
   */
  readonly makings: number;
  /** What the node waits for; empty when it serves. */
  readonly missing: readonly string[];
};

/** Whoever should tell what is there has this share of a call's time before what is remembered is served. */
const PATIENCE = 0.1;
/** How long requests under way may take before the actors that serve them end, in calls of the cloud. */
const QUIET_MAX = 0.5;
const TRUTH = 'ENIs and leases of an earlier life';

/** Nothing is remembered: back to the step that failed, or takes its time. */
const whereFrom = [
  { guard: 'recoversLater', target: '#node.recovering.backingOff' },
  { guard: 'identified', target: '#node.recovering' },
  { guard: 'hasFailed', target: '#node.starting.backingOff' },
  { target: '#node.starting' },
] as const;

export const nodeMachine = setup({
  types: {
    input: {} as NodeInput,
    context: {} as NodeContext,
    events: {} as NodeEvent,
    emitted: {} as Answer,
  },
  actors: {} as {
    identify: PromiseActorLogic<At<NodeFacts>, { settings: Settings }>;
    recover: PromiseActorLogic<At<Recovered>, RecoverInput>;
    /** null when nothing is remembered of this boot. */
    recall: PromiseActorLogic<At<Remembered | null>, { settings: Settings }>;
    look: PromiseActorLogic<At<SeenEnis>, { facts: NodeFacts; settings: Settings }>;
    /** Resolves when no request is under way. */
    quiet: PromiseActorLogic<void, undefined>;
    eniFactory: typeof eniFactoryMachine;
    leases: typeof leasesMachine;
    idlePool: typeof idlePoolMachine;
    kernelKeeper: typeof kernelKeeperMachine;
    cloudKeeper: typeof cloudKeeperMachine;
    garbageCollector: typeof garbageCollectorMachine;
  },
  delays: {
    patience: ({ context }) => PATIENCE * context.settings.callTimeoutMs,
    quietMax: ({ context }) => QUIET_MAX * context.settings.callTimeoutMs,
    backoff: ({ context }) =>
      Math.min(context.settings.backoffMs * 2 ** Math.max(0, context.failures - 1), context.settings.backoffMaxMs),
  },
  guards: {
    notRecalled: ({ context }) => !context.recalled,
    identified: ({ context }) => context.facts !== null,
    /** It was a failure that led here, and not impatience. */
    hasFailed: ({ context }) => context.failures > 0,
    recoversLater: ({ context }) => context.facts !== null && context.failures > 0,
  },
  actions: {
    identified: assign(({ context }, params: At<NodeFacts>) => ({
      facts: params.value,
      nowMs: Math.max(context.nowMs, params.atMs),
      failures: 0,
      missing: [TRUTH],
    })),
    failed: assign(({ context }, params: { error: unknown; step: string }) => ({
      failures: context.failures + 1,
      missing: [`${params.step}: ${failureOf(params.error).detail}`],
    })),
    turnAway: enqueueActions(({ context, event, enqueue }) => {
      if (event.type !== 'allocate' && event.type !== 'release') return;
      const failure: Failure = {
        code: 'notReady',
        detail: `the node is not serving yet (${context.missing.join('; ') || 'stopping'})`,
      };
      enqueue.emit({ type: 'answer', requestId: event.requestId, ok: false, failure });
    }),
    /** Everybody goes by it from now on. */
    adjust: enqueueActions(({ event, enqueue, context, system }) => {
      if (event.type !== 'settings') return;
      const { settings, facts, atMs } = event;
      enqueue.assign({ settings, facts, nowMs: Math.max(context.nowMs, atMs) });
      const type = 'settings';
      enqueue.sendTo(eniFactoryIn(system), { type, settings: factorySettingsOf(settings, facts), atMs });
      enqueue.sendTo(KERNEL_KEEPER, { type, settings: kernelKeeperSettingsOf(settings), atMs });
      enqueue.sendTo(CLOUD_KEEPER, { type, settings: cloudKeeperSettingsOf(settings), atMs });
      enqueue.sendTo(GARBAGE_COLLECTOR, { type, settings: collectorSettingsOf(settings), atMs });
    }),
    /** Unless it is not there yet: it is told as it starts. */
    adjustPool: enqueueActions(({ event, enqueue, context: { settings, cordoned }, system }) => {
      const idlePool = idlePoolIn(system);
      if (idlePool === undefined || (event.type !== 'settings' && event.type !== 'cordoned')) return;
      enqueue.sendTo(idlePool, { type: 'settings', settings: poolSettingsOf(settings, cordoned), atMs: event.atMs });
    }),
    forward: sendTo(
      ({ system }) => leasesIn(system),
      ({ event }) => event as Ask | Release | Forget,
    ),
  },
}).createMachine({
  id: 'node',
  options: { maxIterations: 100 },
  context: ({ input }) => ({
    ...input,
    facts: null,
    recovered: null,
    seen: null,
    cordoned: false,
    recalled: false,
    nowMs: 0,
    failures: 0,
    makings: 0,
    missing: ['metadata and cloud'],
  }),
  initial: 'starting',
  on: {
    allocate: { actions: 'turnAway' },
    release: { actions: 'turnAway' },
    cordoned: { actions: [assign({ cordoned: ({ event }) => event.cordoned }), 'adjustPool'] },
  },
  states: {
    starting: {
      on: { stop: 'stopped' },
      initial: 'calling',
      states: {
        calling: {
          after: { patience: { guard: 'notRecalled', target: '#node.remembering' } },
          invoke: {
            src: 'identify',
            input: ({ context }) => ({ settings: context.settings }),
            onDone: {
              target: '#node.recovering',
              actions: { type: 'identified', params: ({ event }) => event.output },
            },
            onError: {
              target: '#node.remembering',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'identify' }) },
            },
          },
        },
        backingOff: { after: { backoff: 'calling' } },
      },
    },
    recovering: {
      on: { stop: 'stopped' },
      exit: assign({ seen: null }),
      initial: 'calling',
      states: {
        calling: {
          after: { patience: { guard: 'notRecalled', target: '#node.remembering' } },
          invoke: {
            src: 'recover',
            input: ({ context }) => ({ facts: factsOf(context), settings: context.settings, seen: context.seen }),
            onDone: {
              target: '#node.running',
              actions: assign(({ event }) => ({
                recovered: event.output.value,
                nowMs: event.output.atMs,
                failures: 0,
                missing: [],
              })),
            },
            onError: {
              target: '#node.remembering',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'recover' }) },
            },
          },
        },
        backingOff: { after: { backoff: 'calling' } },
      },
    },
    // Who should tell what is there is away, or slow.
    remembering: {
      on: { stop: 'stopped' },
      entry: assign({ recalled: true }),
      invoke: {
        src: 'recall',
        input: ({ context }) => ({ settings: context.settings }),
        onDone: [
          {
            guard: ({ context, event }) => event.output.value !== null && context.failures > 0,
            target: '#node.running.degraded.backingOff',
            actions: assign(({ event }) => ({ ...event.output.value, nowMs: event.output.atMs })),
          },
          {
            guard: ({ event }) => event.output.value !== null,
            target: '#node.running.degraded',
            actions: assign(({ event }) => ({ ...event.output.value, nowMs: event.output.atMs })),
          },
          ...whereFrom,
        ],
        onError: whereFrom,
      },
    },
    running: {
      entry: assign({ makings: ({ context }) => context.makings + 1 }),
      invoke: [
        {
          src: 'leases',
          id: LEASES,
          systemId: LEASES,
          input: ({ context }) => ({
            leases: context.recovered?.leases ?? [],
            dead: context.recovered?.dead ?? [],
            nowMs: context.nowMs,
          }),
          onError: {
            target: 'failed',
            actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'leases' }) },
          },
        },
        // Before the factory, which tells it the totals as it starts.
        {
          src: 'idlePool',
          id: IDLE_POOL,
          systemId: IDLE_POOL,
          input: ({ context }) => poolInput(context),
          onError: {
            target: 'failed',
            actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'idlePool' }) },
          },
        },
        {
          src: 'eniFactory',
          id: ENI_FACTORY,
          systemId: ENI_FACTORY,
          input: ({ context }) => factoryInput(context),
          onError: {
            target: 'failed',
            actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'eniFactory' }) },
          },
        },
        {
          src: 'kernelKeeper',
          id: KERNEL_KEEPER,
          systemId: KERNEL_KEEPER,
          input: ({ context: { settings, nowMs } }) => ({ ...kernelKeeperSettingsOf(settings), nowMs }),
          onError: {
            target: 'failed',
            actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'kernelKeeper' }) },
          },
        },
        {
          src: 'cloudKeeper',
          id: CLOUD_KEEPER,
          systemId: CLOUD_KEEPER,
          input: ({ context }) => ({
            ...cloudKeeperSettingsOf(context.settings),
            seed: factsOf(context).seed,
            nowMs: context.nowMs,
          }),
          onError: {
            target: 'failed',
            actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'cloudKeeper' }) },
          },
        },
        {
          src: 'garbageCollector',
          id: GARBAGE_COLLECTOR,
          systemId: GARBAGE_COLLECTOR,
          input: ({ context: { settings, nowMs } }) => ({
            ...collectorSettingsOf(settings),
            nodeName: settings.nodeName,
            nowMs,
          }),
          onError: {
            target: 'failed',
            actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'garbageCollector' }) },
          },
        },
      ],
      initial: 'serving',
      states: {
        // Over books from memory, while the truth is asked for again and again.
        degraded: {
          on: {
            stop: { target: 'draining', actions: assign({ failures: 0, missing: [] }) },
            allocate: { actions: 'forward' },
            release: { actions: 'forward' },
            forget: { actions: 'forward' },
          },
          initial: 'identifying',
          states: {
            identifying: {
              invoke: {
                src: 'identify',
                input: ({ context }) => ({ settings: context.settings }),
                onDone: { target: 'looking', actions: { type: 'identified', params: ({ event }) => event.output } },
                onError: {
                  target: 'backingOff',
                  actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'identify' }) },
                },
              },
            },
            looking: {
              invoke: {
                src: 'look',
                input: ({ context }) => ({ facts: factsOf(context), settings: context.settings }),
                onDone: {
                  target: 'quieting',
                  actions: assign(({ event }) => ({ seen: event.output.value, nowMs: event.output.atMs })),
                },
                onError: {
                  target: 'backingOff',
                  actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'recover' }) },
                },
              },
            },
            backingOff: { after: { backoff: 'identifying' } },
            // Who is being served is answered first, if that does not take long; who comes now asks again.
            quieting: {
              on: { allocate: { actions: 'turnAway' }, release: { actions: 'turnAway' } },
              invoke: { src: 'quiet', onDone: '#node.recovering', onError: '#node.recovering' },
              after: { quietMax: '#node.recovering' },
            },
          },
        },
        serving: {
          on: {
            stop: 'draining',
            settings: { actions: ['adjust', 'adjustPool'] },
            allocate: { actions: 'forward' },
            release: { actions: 'forward' },
            forget: { actions: 'forward' },
          },
        },
        // Releases still go through: a lease given back now is one less to recover.
        draining: {
          on: {
            stop: '#node.stopped',
            release: { actions: 'forward' },
            forget: { actions: 'forward' },
          },
        },
      },
    },
    // A supervisor died: the process has to end, so that a new one starts from what is durable.
    failed: { type: 'final' },
    stopped: { type: 'final' },
  },
});

export type NodeRef = ActorRefFrom<typeof nodeMachine>;

function factsOf({ facts }: NodeContext): NodeFacts {
  const nothing = { eniCap: 0, eniPlaces: 0, ipv4PerEni: 0, vSwitches: [], securityGroupIds: [], seed: 0 };
  return facts ?? { instanceId: '', nodeIp: '', ...nothing };
}

function poolInput(context: NodeContext): IdlePoolInput {
  const { settings, recovered, cordoned, nowMs } = context;
  const { eniCap, eniPlaces, ipv4PerEni, seed } = factsOf(context);
  const capacity = managedMax({ eniCap, eniPlaces, foreignEnis: recovered?.foreignEnis ?? 0 }) * ipv4PerEni;
  const { readOnly } = settings;
  return { ...poolSettingsOf(settings, cordoned), capacity, ipv4PerEni, seed, readOnly, nowMs };
}

function factoryInput(context: NodeContext): EniFactoryInput {
  const { settings, recovered, nowMs, token, makings } = context;
  const facts = factsOf(context);
  const { eniPlaces, ipv4PerEni, seed } = facts;
  return {
    ...factorySettingsOf(settings, facts),
    nowMs,
    eniPlaces,
    foreignEnis: recovered?.foreignEnis ?? 0,
    ipv4PerEni,
    dual: settings.ipStack === 'dual',
    seed,
    mtu: settings.mtu,
    token: `${token}-${makings}`,
    adopted: recovered?.enis ?? [],
    unconfirmed: recovered?.unconfirmed === true,
    readOnly: settings.readOnly,
  };
}

const cloudKeeperSettingsOf = ({ cloudPeriodMs: periodMs }: Settings): CloudKeeperSettings => ({ periodMs });

function collectorSettingsOf({ gcPeriodMs, gcGraceMs, gcTimeoutMs, backoffMs }: Settings): GarbageCollectorSettings {
  return { periodMs: gcPeriodMs, graceMs: gcGraceMs, timeoutMs: gcTimeoutMs, backoffMs };
}
