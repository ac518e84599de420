/**
 * The ENI chart given hands: each of its calls is one call of a port, logged once, with the instant it came back.
 *
 * No call that creates or destroys leaves before its intent is durable. An intent is closed by the answer, where that tells all (Assign,
 * Unassign, a Create that was refused), else by what Describe tells later; that of a Create gives way to that of the Attach.
 */
import { fromPromise } from 'xstate';
import type { CloudEni } from '../src/core/eni.ts';
import { EnactorError, failureOf } from '../src/core/errors.ts';
import { isHeldBackFor } from '../src/core/held-back.ts';
import {
  type CreateIntent,
  type EniIntent,
  hasAny,
  INTENT_VERSION,
  type Intent,
  isSettled,
  mayHaveHappened,
  takingId,
} from '../src/core/intent.ts';
import { LATE_PERIODS } from '../src/core/late-describe.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import type { SandboxKey } from '../src/core/sandbox.ts';
import type { Settings } from '../src/core/settings.ts';
import { believed, isAsKnown, type Owned } from '../src/core/two-witnesses.ts';
import type { At } from '../statecharts/at.ts';
import { eniMachine } from '../statecharts/eni.ts';
import type { Intents } from './intents.ts';
import { heldOf, readCoolDowns, readLeases, readReservations } from './leases-on-disk.ts';
import type { NodePorts } from './ports.ts';
import type { SharedLooks } from './shared-looks.ts';
import { ownTags, REQUEST_TAG } from './tags.ts';
import type { Timers } from './timers.ts';

/** The host is asked for a device so much more often than the cloud is for its ENI: it costs no call. */
const GLANCES_A_PERIOD = 4;

/** What the logic of every ENI actor needs to know about the node. Filled by `identify`, before the first ENI exists. */
export type EniHands = Pick<NodePorts, 'cloud' | 'metadata' | 'store' | 'kernel' | 'host' | 'clock' | 'log'> & {
  /** Those that hold at the moment. */
  readonly settings: () => Settings;
  readonly intents: Intents;
  readonly facts: () => NodeFacts;
  readonly looks: SharedLooks;
  /** Sandboxes that have a lease, in memory at least; null: nobody can tell. */
  readonly claimed: () => ReadonlySet<SandboxKey> | null;
  readonly delays: Timers;
};

export function eniLogic({ cloud, metadata, store, kernel, host, clock, log, delays, ...hands }: EniHands) {
  const { settings, intents, facts, looks, claimed } = hands;
  const rest = (ms: number): Promise<void> => new Promise((resolve) => void delays.setTimeout(resolve, ms));
  /** Runs one call; what comes back carries the instant. Failures are logged here and nowhere else. */
  const call = async <T>(what: string, fields: object, run: () => Promise<T>): Promise<At<T>> => {
    const startMs = clock.nowMs();
    try {
      const value = await run();
      const atMs = clock.nowMs();
      log.debug({ ...fields, ms: atMs - startMs }, `${what} done`);
      return { atMs, askedMs: startMs, value };
    } catch (error) {
      log.warn({ ...fields, ms: clock.nowMs() - startMs, failure: failureOf(error) }, `${what} failed`);
      throw error;
    }
  };

  /** Runs one call that creates or destroys, once its intent is durable. A caller that left meanwhile wants no call. */
  const intended = <T>(what: string, fields: object, intent: Intent, signal: AbortSignal, run: () => Promise<T>) =>
    call(what, fields, async () => {
      await intents.open(intent);
      if (signal.aborted) throw new EnactorError('cancelled', 'the call is not wanted any more');
      return await run();
    });
  const stamp = (id: string, slot: number) => ({ version: INTENT_VERSION, id, slot, atMs: clock.nowMs() }) as const;
  const placed = (kind: 'attach' | 'detach', { slot, eniId }: { slot: number; eniId: string }): Intent => ({
    ...stamp(eniId, slot),
    kind,
    eniId,
    instanceId: facts().instanceId,
  });

  const tell = (intent: EniIntent, ips: readonly string[], there: boolean): void => {
    const nowMs = clock.nowMs();
    intents.answered(intent, ips, there, nowMs, nowMs + LATE_PERIODS * settings().describePeriodMs);
  };

  /** The metadata service is the second witness; asked only when the first one tells something new. */
  const witnessed = async (eniId: string, told: CloudEni | null, known: Owned, signal: AbortSignal) => {
    if (isAsKnown(told, known)) return told;
    const enis = await metadata.enis(signal).catch(() => []);
    const belief = believed(told, known, enis.find((eni) => eni.eniId === eniId) ?? null);
    if (belief.agreed) return belief.eni;
    throw new EnactorError(
      'cloud',
      `OpenAPI tells that ${eniId} is ${told?.status ?? 'unknown'}, metadata that it is here`,
    );
  };

  /** A look that nobody waits for, shared with the other ENIs. */
  const compared = async (eniId: string, known: Owned, signal: AbortSignal): Promise<At<CloudEni | null>> => {
    let askedMs = clock.nowMs();
    const done = await call('compare ENI', { eni: eniId }, async () => {
      const shown = await looks.shown(eniId, known, signal);
      askedMs = shown.askedMs;
      return await witnessed(eniId, shown.eni, known, signal);
    });
    return { ...done, askedMs };
  };

  return eniMachine.provide({
    actions: {
      tellCalledOff: (_, { slot, count: ips }) =>
        log.info({ slot, ips }, 'an ENI that nobody waits for any more is not made'),
      tellUnplugged: (_, { eniId: eni, mac }) =>
        log.warn({ eni, mac }, 'the device of an ENI is gone: the cloud is asked what became of it'),
      tellStrange: (_, { eniId: eni, lost, missing, unknown }) => {
        for (const { ip, pod } of lost) log.error({ eni, ip, pod }, 'the address of a pod is gone in the cloud');
        if (missing.length + unknown.length > 0)
          log.warn({ eni, missing, unknown }, 'addresses were changed by somebody else');
      },
    },
    actors: {
      awaitTurn: fromPromise(async ({ input: { call: which, about, background }, signal }) => {
        await cloud.turn?.(which, about, background, signal);
        return { atMs: clock.nowMs(), value: undefined };
      }),
      seekDevice: fromPromise(async ({ input, signal }) => {
        const mac = input.mac.toLowerCase();
        for (let waitMs = input.periodMs; ; waitMs = input.periodMs / GLANCES_A_PERIOD) {
          await rest(waitMs);
          if (signal.aborted || (await host.links()).some((link) => link.mac === mac)) break;
        }
        return { atMs: clock.nowMs(), value: undefined };
      }),
      createEni: fromPromise(async ({ input, signal }) => {
        const intent: CreateIntent = {
          ...(input.repeated ?? {
            kind: 'create',
            eniId: null,
            vSwitchId: input.vSwitchId,
            securityGroupIds: facts().securityGroupIds,
            ipv4Count: input.ipv4Count,
            ipv6Count: input.ipv6Count,
            tags: {
              ...settings().eniTags,
              ...ownTags(settings().clusterId, facts().instanceId),
              [REQUEST_TAG]: input.token,
            },
            description: `created by enactor for ${settings().nodeName}`,
            clientToken: input.token,
          }),
          ...stamp(input.token, input.slot),
        };
        const { vSwitchId, securityGroupIds, ipv4Count, ipv6Count, tags, description, clientToken } = intent;
        const { background } = input;
        const wanted = {
          vSwitchId,
          securityGroupIds,
          ipv4Count,
          ipv6Count,
          tags,
          description,
          clientToken,
          background,
        };
        const fields = { slot: input.slot, vSwitch: vSwitchId, ips: ipv4Count };
        try {
          const made = await intended('create ENI', fields, intent, signal, () => cloud.createEni(wanted, signal));
          log.info({ slot: input.slot, eni: made.value.eniId, ips: made.value.ipv4.length }, 'ENI created');
          return made;
        } catch (error) {
          if (!input.doubtful && !mayHaveHappened(failureOf(error))) intents.close(intent);
          throw error;
        }
      }),
      findEni: fromPromise(({ input, signal }) =>
        call('look for ENI', { token: input.token }, async () => {
          const open = intents.of(input.token);
          const tags = { ...ownTags(settings().clusterId, facts().instanceId), [REQUEST_TAG]: input.token };
          // Whether several tags are all asked for, or any, is nowhere written.
          const found = (await cloud.describeEnis({ tags }, signal)).find(
            (eni) => eni.tags[REQUEST_TAG] === input.token,
          );
          if (found === undefined && open !== null) intents.close(open);
          return found ?? null;
        }),
      ),
      attachEni: fromPromise(({ input, signal }) =>
        intended('attach ENI', { eni: input.eniId }, placed('attach', input), signal, () =>
          cloud.attachEni(input.eniId, facts().instanceId, signal),
        ),
      ),
      describeEni: fromPromise(({ input, signal }) => {
        const open = intents.of(input.eniId);
        const taking = intents.taking(input.eniId);
        if (input.known !== undefined && open === null && taking === null)
          return compared(input.eniId, input.known, signal);
        return call('describe ENI', { eni: input.eniId }, async () => {
          const askedMs = clock.nowMs();
          const told = (await cloud.describeEnis({ eniIds: [input.eniId] }, signal))[0] ?? null;
          const found = input.known === undefined ? told : await witnessed(input.eniId, told, input.known, signal);
          if (taking !== null && !(input.takingYet && hasAny(found, taking.ips))) intents.close(taking);
          // One that was made a moment ago is not shown yet: without its intent a new life would know nothing of it.
          const tooNew =
            found === null &&
            open?.kind === 'attach' &&
            askedMs - open.atMs < LATE_PERIODS * settings().describePeriodMs;
          if (open === null || open.kind === 'create' || open.kind === 'unassign') return found;
          if (!tooNew && isSettled(open, found)) intents.close(open);
          return found;
        });
      }),
      recall: fromPromise(({ input, signal }) =>
        call('look for what is left of ENI', { eni: input.eniId }, async () => {
          const { eniId, bound } = input;
          const [{ leases, unreadable }, coolUntilMs, reservations] = await Promise.all([
            readLeases(store),
            readCoolDowns(store),
            readReservations(store),
          ]);
          const here = leases.filter((lease) => lease.grant.eni.eniId === eniId);
          const held = new Map(here.map((lease) => [lease.grant.address.ipv4, heldOf(lease)]));
          const [eni] = await cloud.describeEnis({ eniIds: [eniId] }, signal);
          const claims = claimed();
          // What a record that cannot be read may name is held back; of what is held back no record tells, and who holds it is here.
          const isReleased = ({ ipv4, sandbox }: (typeof bound)[number]): boolean =>
            sandbox !== null && isHeldBackFor(sandbox)
              ? claims?.has(sandbox) === false
              : unreadable.length === 0 && !held.has(ipv4);
          const released = bound.filter(isReleased).map(({ ipv4 }) => ({
            ipv4,
            coolUntilMs: coolUntilMs.get(ipv4) ?? 0,
            reservedUntilMs: reservations.get(ipv4)?.untilMs ?? null,
          }));
          return { eni: eni ?? null, held, released };
        }),
      ),
      setUpEni: fromPromise(async ({ input, signal }) => {
        const { eniId, mac, subnet, mtu, routeTable } = input;
        const done = await call('set up device', { eni: eniId, mac }, () =>
          kernel.setUpEni({ mac, subnet, nodeIp: facts().nodeIp, mtu, routeTable }, signal),
        );
        log.info({ eni: eniId, device: done.value.name, table: done.value.routeTable }, 'ENI in use');
        return done;
      }),
      assignIps: fromPromise(async ({ input, signal }) => {
        const { slot, eniId, family, count, token, background } = input;
        const counts = family === 4 ? { ipv4Count: count } : { ipv4Count: 0, ipv6Count: count };
        const intent: EniIntent = { ...stamp(eniId, slot), kind: 'assign', eniId, ...counts, clientToken: token };
        const before = intents.of(eniId);
        const isAgain = before?.kind === 'assign' && before.clientToken === token;
        const done = await intended('assign addresses', { eni: eniId, family, ips: count }, intent, signal, () =>
          family === 4
            ? cloud.assignIpv4(eniId, count, token, signal, background)
            : cloud.assignIpv6(eniId, count, token, signal, background),
        ).catch((error) => {
          // Nobody has seen it, and it has not been made before.
          if (!isAgain && failureOf(error).code === 'throttled') intents.close(intent);
          throw error;
        });
        tell(intent, done.value, true);
        log.info({ eni: eniId, family, asked: count, ips: done.value.length }, 'addresses assigned');
        return done;
      }),
      unassignIps: fromPromise(async ({ input, signal }) => {
        const { slot, eniId, family, ips } = input;
        const intent: EniIntent = { ...stamp(takingId(eniId), slot), kind: 'unassign', eniId, ips };
        const done = await intended(
          'unassign addresses',
          { eni: eniId, family, ips: ips.length },
          intent,
          signal,
          () => (family === 4 ? cloud.unassignIpv4(eniId, ips, signal) : cloud.unassignIpv6(eniId, ips, signal)),
        );
        tell(intent, ips, false);
        log.info({ eni: eniId, family, ips: ips.length }, 'addresses given back');
        return done;
      }),
      tearDownEni: fromPromise(({ input }) =>
        call('tear down device', { mac: input.mac }, async () => {
          // A device that is in a pod, or has not been seen since the start, has no table.
          const { mac, routeTable } = input;
          if (routeTable !== null && routeTable !== 0) await kernel.tearDownEni({ mac, routeTable });
        }),
      ),
      detachEni: fromPromise(({ input, signal }) =>
        intended('detach ENI', { eni: input.eniId }, placed('detach', input), signal, () =>
          cloud.detachEni(input.eniId, facts().instanceId, signal),
        ),
      ),
      deleteEni: fromPromise(async ({ input, signal }) => {
        const { slot, eniId } = input;
        const intent: Intent = { ...stamp(eniId, slot), kind: 'delete', eniId };
        const done = await intended('delete ENI', { eni: eniId }, intent, signal, () => cloud.deleteEni(eniId, signal));
        log.info({ eni: eniId }, 'ENI deleted');
        return done;
      }),
    },
  });
}
