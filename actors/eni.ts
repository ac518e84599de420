/** The ENI chart given hands: each of its calls is one call of a port, logged once, with the instant it came back. */
import { fromPromise } from 'xstate';
import { failureOf } from '../src/core/errors.ts';
import type { Settings } from '../src/core/settings.ts';
import type { CreateEni } from '../src/ports/cloud.ts';
import type { At } from '../statecharts/at.ts';
import { eniMachine } from '../statecharts/eni.ts';
import type { NodeFacts } from '../statecharts/node.ts';
import type { NodePorts } from './ports.ts';
import { ownTags, REQUEST_TAG } from './tags.ts';

/** What the logic of every ENI actor needs to know about the node. Filled by `identify`, before the first ENI exists. */
export type EniHands = Pick<NodePorts, 'cloud' | 'kernel' | 'clock' | 'log'> & {
  readonly settings: Settings;
  readonly facts: () => NodeFacts;
};

export function eniLogic({ cloud, kernel, clock, log, settings, facts }: EniHands) {
  /** Runs one call; what comes back carries the instant. Failures are logged here and nowhere else. */
  const call = async <T>(what: string, fields: object, run: () => Promise<T>): Promise<At<T>> => {
    const startMs = clock.nowMs();
    try {
      const value = await run();
      const atMs = clock.nowMs();
      log.debug({ ...fields, ms: atMs - startMs }, `${what} done`);
      return { atMs, value };
    } catch (error) {
      log.warn({ ...fields, ms: clock.nowMs() - startMs, failure: failureOf(error) }, `${what} failed`);
      throw error;
    }
  };

  return eniMachine.provide({
    actions: {
      tellStrange: (_, { eniId: eni, lost, missing, unknown }) => {
        for (const { ip, pod } of lost) log.error({ eni, ip, pod }, 'the address of a pod is gone in the cloud');
        if (missing.length + unknown.length > 0)
          log.warn({ eni, missing, unknown }, 'addresses were changed by somebody else');
      },
    },
    actors: {
      createEni: fromPromise(async ({ input, signal }) => {
        const wanted: CreateEni = {
          vSwitchId: input.vSwitchId,
          securityGroupIds: facts().securityGroupIds,
          ipv4Count: input.ipv4Count,
          ipv6Count: 0,
          tags: {
            ...settings.eniTags,
            ...ownTags(settings.clusterId, facts().instanceId),
            [REQUEST_TAG]: input.token,
          },
          description: `created by enactor for ${settings.nodeName}`,
          clientToken: input.token,
        };
        const made = await call(
          'create ENI',
          { slot: input.slot, vSwitch: input.vSwitchId, ips: input.ipv4Count },
          () => cloud.createEni(wanted, signal),
        );
        log.info({ slot: input.slot, eni: made.value.eniId, ips: made.value.ipv4.length }, 'ENI created');
        return made;
      }),
      findEni: fromPromise(({ input, signal }) =>
        call('look for ENI', { token: input.token }, async () => {
          const tags = { ...ownTags(settings.clusterId, facts().instanceId), [REQUEST_TAG]: input.token };
          const found = await cloud.describeEnis({ tags }, signal);
          return found[0] ?? null;
        }),
      ),
      attachEni: fromPromise(({ input, signal }) =>
        call('attach ENI', { eni: input.eniId }, () => cloud.attachEni(input.eniId, facts().instanceId, signal)),
      ),
      describeEni: fromPromise(({ input, signal }) =>
        call('describe ENI', { eni: input.eniId }, async () => {
          const found = await cloud.describeEnis({ eniIds: [input.eniId] }, signal);
          return found[0] ?? null;
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
      assignIpv4: fromPromise(async ({ input, signal }) => {
        const { eniId, count, token } = input;
        const done = await call('assign addresses', { eni: eniId, ips: count }, () =>
          cloud.assignIpv4(eniId, count, token, signal),
        );
        log.info({ eni: eniId, asked: count, ips: done.value.length }, 'addresses assigned');
        return done;
      }),
      unassignIpv4: fromPromise(async ({ input, signal }) => {
        const { eniId, ips } = input;
        const done = await call('unassign addresses', { eni: eniId, ips: ips.length }, () =>
          cloud.unassignIpv4(eniId, ips, signal),
        );
        log.info({ eni: eniId, ips: ips.length }, 'addresses given back');
        return done;
      }),
      tearDownEni: fromPromise(({ input }) =>
        call('tear down device', { mac: input.mac }, async () => {
          if (input.routeTable !== null) await kernel.tearDownEni({ mac: input.mac, routeTable: input.routeTable });
        }),
      ),
      detachEni: fromPromise(({ input, signal }) =>
        call('detach ENI', { eni: input.eniId }, () => cloud.detachEni(input.eniId, facts().instanceId, signal)),
      ),
      deleteEni: fromPromise(async ({ input, signal }) => {
        const done = await call('delete ENI', { eni: input.eniId }, () => cloud.deleteEni(input.eniId, signal));
        log.info({ eni: input.eniId }, 'ENI deleted');
        return done;
      }),
    },
  });
}
