/**
 * The node's actor system behind two ports: `Allocator` for those who want addresses, `Introspection` for those who look.
 *
 * Everything below it is driven by events; this file only starts the root, turns calls into messages and answers into results.
 */
import { type AnyActorRef, type AnyStateMachine, createActor, fromPromise, type InspectionEvent } from 'xstate';
import { EnactorError, type Failure, failureOf } from '../src/core/errors.ts';
import type { Lease } from '../src/core/lease.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import { podKey, type SandboxKey, sandboxKey } from '../src/core/sandbox.ts';
import type { Settings } from '../src/core/settings.ts';
import type { AllocateRequest, Allocator, ReleaseRequest } from '../src/ports/allocator.ts';
import type { Answered } from '../src/ports/answered.ts';
import type { Introspection } from '../src/ports/introspection.ts';
import { SHOWN_BEFORE_MAX } from '../statecharts/eni-context.ts';
import { type EniFactoryRef, eniFactoryMachine } from '../statecharts/eni-factory.ts';
import { idlePoolMachine } from '../statecharts/idle-pool.ts';
import type { LeaseContext } from '../statecharts/lease.ts';
import { type LeasesRef, leaseId, leasesMachine } from '../statecharts/leases.ts';
import type { Answer } from '../statecharts/messages.ts';
import { nodeMachine } from '../statecharts/node.ts';
import { ENI_FACTORY, LEASES } from '../statecharts/receptionist.ts';
import { actorDetail } from './actor-detail.ts';
import { Replies } from './ask.ts';
import { factsAfter, factsAnew } from './change-settings.ts';
import { charts } from './chart-data.ts';
import { cloudKeeperLogic } from './cloud-keeper.ts';
import { endsByKind } from './ends-by-kind.ts';
import { eniLogic } from './eni.ts';
import { EniMemory } from './eni-memory.ts';
import { garbageCollectorLogic } from './garbage-collector.ts';
import { identifyLogic } from './identify.ts';
import { entersFromOutside, Inputs } from './inputs.ts';
import { Intents } from './intents.ts';
import { kernelKeeperLogic } from './kernel-keeper.ts';
import { leaseLogic } from './lease.ts';
import { lightSteps } from './light-steps.ts';
import { claimedIn, knownEnisOf, livingIn, ownedIn, rememberedIn } from './living.ts';
import { lookLogic } from './look.ts';
import { manyChildren } from './many-children.ts';
import { commandIn } from './node-commands.ts';
import { Observer } from './observer.ts';
import type { NodePorts } from './ports.ts';
import { recallLogic } from './recall.ts';
import { recoverLogic } from './recover.ts';
import { boundLeases, reportOf } from './report.ts';
import { RequestTrails } from './request-trails.ts';
import { SharedLooks } from './shared-looks.ts';
import { NEVER, type Since, sinceAfter } from './since.ts';
import { statePath } from './state-path.ts';
import { surveyLogic } from './survey.ts';
import { type Instant, timed } from './timed.ts';
import { realTimers, type Timers } from './timers.ts';
import { Told } from './told.ts';
import { stagesOf, whyOf } from './why.ts';

/** A try-again that also names who is away. */
function alsoMissing(answer: Extract<Answer, { ok: false }>, missing: readonly string[]): Answer {
  const { failure } = answer;
  if (failure.code !== 'notReady') return answer;
  const detail = `${failure.detail} (the node is degraded: ${missing.join('; ')})`;
  return { ...answer, failure: { ...failure, detail } };
}

export type NodeSystem = {
  readonly allocator: Allocator;
  readonly introspection: Introspection;
  /** Resolves when the node serves; rejects with EnactorError `cancelled` when `signal` fires or the node ends first. */
  whenServing(signal: AbortSignal): Promise<void>;
  /** Resolves when the root cannot go on: the process has to end. Stays pending otherwise. */
  readonly failed: Promise<Error>;
  /**
   * From now on these hold. Rejects with EnactorError and changes nothing: `invalidArgument` when they do not fit the instance, `notReady`
   * when the node does not serve, else what kept them from being looked up. What only a new life can take is the caller's to leave alone.
   */
  changeSettings(settings: Settings, signal: AbortSignal): Promise<void>;
  /** The security groups that the next ENI will have; none before the node knows itself. */
  securityGroups(): readonly string[];
  /**
   * What the cloud says of the instance holds from now on: its primary ENI's groups, its vSwitches and its quotas may be others than at the start.
   * Rejects with EnactorError as `changeSettings` does.
   */
  lookAgain(signal: AbortSignal): Promise<void>;
  /** Whether the API server schedules anything to this node. */
  cordon(cordoned: boolean): void;
  /** Turns new requests away, waits up to `drainMs` for those under way, then ends. Idempotent. */
  stop(drainMs?: number): Promise<void>;
};

export type StartNode = {
  readonly ports: NodePorts;
  readonly settings: Settings;
  /** Timers of the actors; real time when left out. */
  readonly clock?: NonNullable<Parameters<typeof createActor>[1]>['clock'];
  readonly inspect?: (event: InspectionEvent) => void;
  /** Hears of each request for an address that was answered, either way. */
  readonly answered?: (how: Answered) => void;
};

const DRAIN_POLL_MS = 20;
/** A pod that has waited so long waits for the cloud: what other nodes need comes after it. */
const HURRY_MS = 1_000;
const ENI_PREFIX = 'eni:';

const isDegraded = (value: unknown): boolean => statePath(value).startsWith('running.degraded');

export function startNode({
  ports,
  settings: atStart,
  clock: timers,
  inspect,
  answered: onAnswered,
}: StartNode): NodeSystem {
  const { clock, entropy, log } = ports;
  const replies = new Replies();
  /** Sandboxes whose lease is on disk and cannot be read. */
  const unreadable = new Set<SandboxKey>();
  let bootId: string | null = null;
  let identity: string | null = null;
  const booted = (id: string): void => {
    bootId = id;
  };
  const since = new WeakMap<AnyActorRef, Since>();
  const delays = timers === undefined ? realTimers : (timers as unknown as Timers);
  const memory = new EniMemory(ports.store, delays, log, () => {
    const { facts: known } = root.getSnapshot().context;
    if (known === null || bootId === null) return null;
    const { instanceId, nodeIp } = known;
    return rememberedIn(root, { instanceId, nodeIp, bootId });
  });
  const intents = new Intents(ports.store, delays, log, (intent) => memory.struckOut(intent));
  const inputs = new Inputs(atStart.inputsMax, ports, delays);
  const trails = new RequestTrails();
  const observer = new Observer(() => clock.nowMs());

  const startMs = clock.nowMs();
  const instant: Instant = { nowMs: startMs };
  const chart = <Logic extends AnyStateMachine>(logic: Logic): Logic => timed(lightSteps(logic), instant);
  const ofSandbox = chart(
    leaseLogic(
      ports,
      () => settings().coolDownMs,
      () => bootId,
    ),
  );
  const told = new Told(ports, intents);
  const looks = new SharedLooks({
    ...{ ...ports, known: () => knownEnisOf(root) },
    keptMs: () => SHOWN_BEFORE_MAX * settings().cloudPeriodMs,
  });
  const eni = chart(eniLogic({ ...ports, settings, facts, intents, looks, claimed: () => claimedIn(root), delays }));
  const survey = surveyLogic({ ...ports, facts });
  const collector = garbageCollectorLogic({
    ...ports,
    nodeName: atStart.nodeName,
    leases: () => boundLeases(root),
    owned: () => ownedIn(root),
    allocator: { release: (request, signal) => release(request, signal), lease: (id, ifName) => lease(id, ifName) },
  });
  const logic = nodeMachine.provide({
    actors: {
      identify: identifyLogic(ports, told, (id) => {
        identity = id;
      }),
      recover: recoverLogic({ ...ports, told, intents, memory, unreadable, booted }),
      recall: recallLogic({ ...ports, identity: () => identity, unreadable, booted }),
      look: lookLogic({ ...ports, told }),
      quiet: fromPromise(async ({ signal }) => {
        while (replies.size > 0 && !signal.aborted) await delay(DRAIN_POLL_MS);
      }),
      leases: timed(
        endsByKind(manyChildren(lightSteps(leasesMachine.provide({ actors: { lease: ofSandbox } })))),
        instant,
      ),
      eniFactory: chart(eniFactoryMachine.provide({ actors: { eni, survey } })),
      idlePool: chart(idlePoolMachine),
      garbageCollector: timed(collector, instant),
      cloudKeeper: timed(
        cloudKeeperLogic({
          ...{ ...ports, settings, intents, facts },
          known: () => knownEnisOf(root),
          unconfirmed: () => isDegraded(root.getSnapshot().value),
        }),
        instant,
      ),
      kernelKeeper: timed(
        kernelKeeperLogic({ ...ports, settings, living: () => livingIn(root, facts().nodeIp) }),
        instant,
      ),
    },
  });
  const root = createActor(chart(logic), {
    input: { settings: atStart, token: entropy.token().slice(0, 40) },
    ...(timers === undefined ? {} : { clock: timers }),
    inspect: (event) => {
      if (event.type === '@xstate.snapshot') {
        noteState(event.actorRef as AnyActorRef);
        if ((event.actorRef as AnyActorRef).id?.startsWith(ENI_PREFIX)) memory.touch();
      }
      if (event.type === '@xstate.event' && entersFromOutside(event)) {
        instant.nowMs = Math.max(instant.nowMs, clock.nowMs());
        inputs.note(nameOf(event.actorRef), event.event, instant.nowMs);
      }
      lookedAt(event);
      inspect?.(event);
    },
  });

  /** XState would lose the event of an inspector that throws. */
  function lookedAt(event: InspectionEvent): void {
    try {
      trails.heard(event, instant.nowMs);
      observer.heard(event);
    } catch (err) {
      log.error({ err }, 'a look at the actors met a fault');
    }
  }

  function sinceOf(actor: AnyActorRef): Since {
    return since.get(actor) ?? NEVER;
  }

  /** Those that hold now. */
  function settings(): Settings {
    return root.getSnapshot().context.settings;
  }

  function facts(): NodeFacts {
    const known = root.getSnapshot().context.facts;
    if (known === null) throw new EnactorError('internal', 'an ENI actor runs before the node knows itself');
    return known;
  }

  function nameOf(actor: unknown): string {
    return actor === root ? 'node' : (actor as AnyActorRef).id;
  }

  function noteState(actor: AnyActorRef): void {
    const snapshot = actor.getSnapshot() as { value?: unknown };
    if (snapshot?.value === undefined) return;
    const state = statePath(snapshot.value);
    const before = since.get(actor);
    if (before?.state === state) return;
    since.set(actor, sinceAfter(before, state, clock.nowMs()));
    log.debug({ actor: actor.id, from: before?.state ?? null, to: state }, 'transition');
  }

  const delay = (ms: number): Promise<void> => new Promise((resolve) => void delays.setTimeout(resolve, ms));

  /** While the cloud is away a refusal says so. */
  const answered = (answer: Answer): void => {
    const { value, context } = root.getSnapshot();
    replies.settle(answer.ok || !isDegraded(value) ? answer : alsoMissing(answer, context.missing));
  };

  let listening: LeasesRef | undefined;
  let degraded = false;
  const failed = new Promise<Error>((resolve) => {
    root.subscribe({
      next: (snapshot) => {
        const leases = root.system.get(LEASES) as LeasesRef | undefined;
        if (leases !== undefined && leases !== listening) {
          listening = leases;
          leases.on('answer', answered);
          const factory = root.system.get(ENI_FACTORY) as EniFactoryRef | undefined;
          factory?.on('astray', ({ pod, why }) => log.warn({ pod, why }, 'the pod gets another address than its own'));
        }
        // Those who were being served when the truth came in: their actors are no more.
        if (degraded && snapshot.matches('recovering')) replies.rejectAll('the cloud is heard again: ask again');
        degraded = isDegraded(snapshot.value);
        if (snapshot.value === 'failed') resolve(new Error(snapshot.context.missing.join('; ')));
      },
      error: (error) => {
        replies.rejectAll('the node failed');
        resolve(error instanceof Error ? error : new Error(String(error)));
      },
      complete: () => replies.rejectAll('the node stopped'),
    });
  });
  root.on('answer', (answer) => replies.settle(answer));
  root.start();

  const lease = (containerId: string, ifName: string): Lease | null => {
    const leases = root.system.get(LEASES) as LeasesRef | undefined;
    const child = leases?.getSnapshot().children[leaseId(sandboxKey({ containerId, ifName }))];
    const snapshot = child?.getSnapshot() as { value: unknown; context: LeaseContext } | undefined;
    return snapshot?.value === 'bound' ? snapshot.context.lease : null;
  };

  /** A root that has ended hears nothing: a request to it would wait for ever. */
  const mustRun = (): void => {
    if (root.getSnapshot().status !== 'active') throw new EnactorError('notReady', 'the node has ended');
  };

  const mustServe = (): void => {
    if (!root.getSnapshot().matches({ running: 'serving' }))
      throw new EnactorError('notReady', 'the node does not serve');
  };

  const ended = (requestId: string, failure: Failure | null): void => {
    const trail = trails.end(requestId, clock.nowMs(), failure);
    if (trail !== null) onAnswered?.({ outcome: failure?.code ?? 'ok', stages: stagesOf(trail) });
  };

  const allocate = async (
    { sandbox, untilMs, reserveMs = 0, before, ...told }: AllocateRequest,
    signal: AbortSignal,
  ): Promise<Lease> => {
    mustRun();
    const requestId = entropy.token();
    const startMs = clock.nowMs();
    const fields = { pod: podKey(sandbox.pod), container: sandbox.containerId, if: sandbox.ifName, ...told };
    const forget = (): void => {
      root.send({ type: 'forget', requestId, sandbox: sandboxKey(sandbox), atMs: clock.nowMs() });
    };
    trails.begin(requestId, fields.pod, startMs, before);
    const answer = replies.expect(requestId, signal, forget);
    const hurry = ports.cloud.hurry === undefined ? null : delays.setTimeout(() => ports.cloud.hurry?.(), HURRY_MS);
    if (!signal.aborted) root.send({ type: 'allocate', requestId, sandbox, reserveMs, untilMs, atMs: startMs });
    try {
      const granted = await answer;
      if (granted === null) throw new EnactorError('internal', 'an allocation was answered without a lease');
      ended(requestId, null);
      const { address, eni } = granted.grant;
      log.info({ ...fields, ip: address.ipv4, eni: eni.eniId, ms: clock.nowMs() - startMs }, 'address bound');
      return granted;
    } catch (error) {
      const failure = failureOf(error);
      ended(requestId, failure);
      log.warn({ ...fields, ms: clock.nowMs() - startMs, failure }, 'no address for the pod');
      throw error;
    } finally {
      if (hurry !== null) delays.clearTimeout(hurry);
    }
  };

  const release = async (
    { containerId, ifName, pod, reason, forGood = false, ...told }: ReleaseRequest,
    signal: AbortSignal,
  ): Promise<Lease | null> => {
    mustRun();
    const requestId = entropy.token();
    const sandbox = sandboxKey({ containerId, ifName });
    // A release goes on when its caller leaves: it is wanted whoever waits for it.
    const answer = replies.expect(requestId, signal, () => undefined);
    if (!signal.aborted) root.send({ type: 'release', requestId, sandbox, forGood, atMs: clock.nowMs() });
    const released = await answer;
    const fields = { pod: podKey(pod), container: containerId, if: ifName, reason, ...told };
    // A record that nobody could read goes with its sandbox.
    if (unreadable.delete(sandbox) && released === null)
      await ports.store.write([{ type: 'del', in: 'leases', key: sandbox }]);
    if (released === null) log.debug(fields, 'nothing to release');
    else log.info({ ...fields, ip: released.grant.address.ipv4 }, 'address released');
    return released;
  };

  let stopping: Promise<void> | null = null;
  const stop = async (drainMs: number): Promise<void> => {
    if (root.getSnapshot().status !== 'active') return;
    root.send({ type: 'stop', atMs: clock.nowMs() });
    const untilMs = clock.nowMs() + drainMs;
    while (replies.size > 0 && clock.nowMs() < untilMs) await delay(DRAIN_POLL_MS);
    const remembered = memory.flush();
    if (root.getSnapshot().status === 'active') root.send({ type: 'stop', atMs: clock.nowMs() });
    root.stop();
    replies.rejectAll('the node stopped');
    await Promise.all([intents.flush(), inputs.flush(), remembered]);
  };

  return {
    allocator: { allocate, release, lease },
    introspection: {
      report: () => ({ ...reportOf(root, sinceOf), store: ports.store.state(), atSeq: inputs.lastSeq }),
      journal: (query) => inputs.page(query),
      actor: (path) => actorDetail(root as AnyActorRef, path, sinceOf),
      charts,
      life: () => ({ startMs, seqBefore: inputs.before, settings: atStart }),
      why: (pod) => whyOf(root, trails, pod, clock.nowMs()),
      watch: (listener, options) => observer.watch(root as AnyActorRef, listener, options),
      command: (command) => commandIn(root, command, clock.nowMs()),
    },
    failed,
    securityGroups: () => root.getSnapshot().context.facts?.securityGroupIds ?? [],
    lookAgain: async (signal) => {
      mustServe();
      const now = settings();
      const known = await factsAnew(ports, facts(), now, signal);
      mustServe();
      // Whoever changed the settings meanwhile has asked the cloud too.
      if (settings() === now) root.send({ type: 'settings', settings: now, facts: known, atMs: clock.nowMs() });
    },
    changeSettings: async (after, signal) => {
      mustServe();
      const known = await factsAfter(ports, facts(), settings(), after, signal);
      mustServe();
      root.send({ type: 'settings', settings: after, facts: known, atMs: clock.nowMs() });
    },
    cordon: (cordoned) => {
      if (root.getSnapshot().status === 'active') root.send({ type: 'cordoned', cordoned, atMs: clock.nowMs() });
    },
    whenServing: (signal) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error): void => {
          subscription.unsubscribe();
          signal.removeEventListener('abort', onAbort);
          if (error === undefined) resolve();
          else reject(error);
        };
        const onAbort = (): void => {
          const missing = root.getSnapshot().context.missing.join('; ');
          end(new EnactorError('cancelled', `the node does not serve yet: ${missing}`));
        };
        const subscription = root.subscribe({
          next: (snapshot) => {
            if (snapshot.matches({ running: 'serving' })) end();
          },
          error: () => end(new EnactorError('cancelled', 'the node failed')),
          complete: () => end(new EnactorError('cancelled', 'the node stopped')),
        });
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) onAbort();
        else if (root.getSnapshot().matches({ running: 'serving' })) end();
      }),
    stop: (drainMs = 0) => {
      stopping ??= stop(drainMs);
      return stopping;
    },
  };
}
