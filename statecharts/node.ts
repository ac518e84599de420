/**
 * The root: starting (who am I, what may I own) → recovering (what is there already) → running.serving → draining → stopped.
 *
 * It has no policy of its own: it gathers what the others need, invokes them together, and turns callers away with a reason while
 * that is not done. A step that fails is tried again for as long as it takes, since the socket answers meanwhile.
 */
import { type ActorRefFrom, assign, enqueueActions, type PromiseActorLogic, sendTo, setup } from 'xstate';
import { type Failure, failureOf } from '../src/core/errors.ts';
import type { Lease } from '../src/core/lease.ts';
import { type PoolBounds, poolBounds } from '../src/core/pool.ts';
import type { Settings } from '../src/core/settings.ts';
import type { At } from './at.ts';
import type { eniFactoryMachine } from './eni-factory.ts';
import type { AdoptedEni, VSwitchPlan } from './eni-factory-context.ts';
import type { idlePoolMachine } from './idle-pool.ts';
import type { leasesMachine } from './leases.ts';
import type { Answer, NodeEvent } from './messages.ts';
import { ENI_FACTORY, IDLE_POOL, LEASES, leasesIn } from './receptionist.ts';

/** What the instance is and may own. */
export type NodeFacts = {
  readonly instanceId: string;
  readonly nodeIp: string;
  /** Managed ENIs it may have, and addresses on each. */
  readonly maxEnis: number;
  readonly ipv4PerEni: number;
  readonly vSwitches: readonly VSwitchPlan[];
  readonly securityGroupIds: readonly string[];
};

/** What an earlier life left. */
export type Recovered = { readonly leases: readonly Lease[]; readonly enis: readonly AdoptedEni[] };

export type NodeInput = {
  readonly settings: Settings /** Prefix of the tokens of this process's cloud calls. */;
  readonly token: string;
};

export type NodeContext = NodeInput & {
  readonly facts: NodeFacts | null;
  readonly recovered: Recovered | null;
  readonly nowMs: number;
  readonly failures: number;
  /** What the node waits for; empty when it serves. */
  readonly missing: readonly string[];
};

export const nodeMachine = setup({
  types: {
    input: {} as NodeInput,
    context: {} as NodeContext,
    events: {} as NodeEvent,
    emitted: {} as Answer,
  },
  actors: {} as {
    identify: PromiseActorLogic<At<NodeFacts>, { settings: Settings }>;
    recover: PromiseActorLogic<At<Recovered>, { facts: NodeFacts; settings: Settings }>;
    eniFactory: typeof eniFactoryMachine;
    leases: typeof leasesMachine;
    idlePool: typeof idlePoolMachine;
  },
  delays: {
    backoff: ({ context }) =>
      Math.min(context.settings.backoffMs * 2 ** Math.max(0, context.failures - 1), context.settings.backoffMaxMs),
  },
  actions: {
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
    forward: sendTo(
      ({ system }) => leasesIn(system),
      ({ event }) => event as Exclude<NodeEvent, { type: 'stop' }>,
    ),
  },
}).createMachine({
  id: 'node',
  options: { maxIterations: 100 },
  context: ({ input }) => ({
    ...input,
    facts: null,
    recovered: null,
    nowMs: 0,
    failures: 0,
    missing: ['metadata and cloud'],
  }),
  initial: 'starting',
  on: { allocate: { actions: 'turnAway' }, release: { actions: 'turnAway' } },
  states: {
    starting: {
      on: { stop: 'stopped' },
      initial: 'calling',
      states: {
        calling: {
          invoke: {
            src: 'identify',
            input: ({ context }) => ({ settings: context.settings }),
            onDone: {
              target: '#node.recovering',
              actions: assign(({ event }) => ({
                facts: event.output.value,
                nowMs: event.output.atMs,
                failures: 0,
                missing: ['ENIs and leases of an earlier life'],
              })),
            },
            onError: {
              target: 'backingOff',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'identify' }) },
            },
          },
        },
        backingOff: { after: { backoff: 'calling' } },
      },
    },
    recovering: {
      on: { stop: 'stopped' },
      initial: 'calling',
      states: {
        calling: {
          invoke: {
            src: 'recover',
            input: ({ context }) => ({ facts: factsOf(context), settings: context.settings }),
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
              target: 'backingOff',
              actions: { type: 'failed', params: ({ event }) => ({ error: event.error, step: 'recover' }) },
            },
          },
        },
        backingOff: { after: { backoff: 'calling' } },
      },
    },
    running: {
      invoke: [
        {
          src: 'leases',
          id: LEASES,
          systemId: LEASES,
          input: ({ context }) => ({ leases: context.recovered?.leases ?? [], nowMs: context.nowMs }),
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
          input: ({ context }) => ({
            bounds: boundsOf(context),
            periodMs: context.settings.poolPeriodMs,
            backoffMs: context.settings.backoffMs,
            nowMs: context.nowMs,
          }),
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
      ],
      initial: 'serving',
      states: {
        serving: {
          on: {
            stop: 'draining',
            allocate: { actions: 'forward' },
            release: { actions: 'forward' },
            forget: { actions: 'forward' },
          },
        },
        // Releases still go through: a lease given back now is one less to recover.
        draining: {
          on: {
            stop: '#node.stopped',
            allocate: { actions: 'turnAway' },
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

/** The water marks the node can hold. */
export function boundsOf({ settings, facts }: NodeContext): PoolBounds {
  const capacity = (facts?.maxEnis ?? 0) * (facts?.ipv4PerEni ?? 0);
  return poolBounds(settings.minIdle, settings.maxIdle, capacity);
}

function factsOf(context: NodeContext): NodeFacts {
  return (
    context.facts ?? { instanceId: '', nodeIp: '', maxEnis: 0, ipv4PerEni: 0, vSwitches: [], securityGroupIds: [] }
  );
}

function factoryInput(context: NodeContext) {
  const { settings } = context;
  const { maxEnis, ipv4PerEni, vSwitches } = factsOf(context);
  const { cloudPeriodMs, describePeriodMs, attachTimeoutMs, settleTimeoutMs, detachTimeoutMs } = settings;
  const { backoffMs, backoffMaxMs } = settings;
  const timeouts = { attachTimeoutMs, settleTimeoutMs, detachTimeoutMs };
  return {
    nowMs: context.nowMs,
    maxEnis,
    ipv4PerEni,
    vSwitches,
    mtu: settings.mtu,
    token: context.token,
    times: { cloudPeriodMs, describePeriodMs, ...timeouts, backoffMs, backoffMaxMs },
    holdDownMs: settings.holdDownMs,
    waitingMax: settings.waitingMax,
    adopted: context.recovered?.enis ?? [],
  };
}
