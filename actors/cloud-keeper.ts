/** The cloud keeper given hands: what the cloud has of ours, less what the actors have at that very moment. */
import { fromPromise } from 'xstate';
import type { Held } from '../src/core/address-book.ts';
import type { CloudEni } from '../src/core/eni.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import type { Settings } from '../src/core/settings.ts';
import type { AdoptedEni } from '../statecharts/adopted-eni.ts';
import type { At } from '../statecharts/at.ts';
import { cloudKeeperMachine } from '../statecharts/cloud-keeper.ts';
import { subnetOf } from './identify.ts';
import type { Intents } from './intents.ts';
import { heldOf, readCoolDowns, readLeases } from './leases-on-disk.ts';
import type { NodePorts } from './ports.ts';
import { isOurs, ownTags, REQUEST_TAG } from './tags.ts';

export type CloudKeeperHands = Pick<NodePorts, 'cloud' | 'store' | 'clock' | 'log'> & {
  readonly settings: () => Settings;
  readonly intents: Intents;
  readonly facts: () => NodeFacts;
  /** Ids of the ENIs that have an actor. */
  readonly known: () => ReadonlySet<string>;
  /** The books are from memory (recall.ts): who is not in them may be known all the same. */
  readonly unconfirmed: () => boolean;
};

export function cloudKeeperLogic(hands: CloudKeeperHands) {
  const { cloud, store, clock, log, settings, intents, facts, known, unconfirmed } = hands;
  const isStray = (eni: CloudEni): boolean => {
    const { instanceId } = facts();
    if (
      !isOurs(eni.tags, instanceId, settings().clusterId) ||
      (eni.instanceId !== null && eni.instanceId !== instanceId)
    )
      return false;
    // Whoever makes it does not know its id yet.
    return !known().has(eni.eniId) && intents.of(eni.tags[REQUEST_TAG] ?? '') === null;
  };

  const list = async (suspects: readonly string[], signal: AbortSignal): Promise<readonly AdoptedEni[]> => {
    if (unconfirmed()) return [];
    const tags = ownTags(settings().clusterId, facts().instanceId);
    const ours = await cloud.describeEnis({ tags, background: true }, signal);
    const strays = ours.filter(isStray);
    if (strays.length === 0) return [];
    const vSwitchIds = [...new Set(strays.map(({ vSwitchId }) => vSwitchId))];
    const [vSwitches, { leases }, coolUntilMs] = await Promise.all([
      cloud.vSwitches(vSwitchIds, signal),
      readLeases(store),
      readCoolDowns(store),
    ]);
    return strays.filter(isStray).flatMap((eni): AdoptedEni[] => {
      const vSwitch = vSwitches.find(({ vSwitchId }) => vSwitchId === eni.vSwitchId);
      if (vSwitch === undefined) return [];
      const here = leases.filter(({ grant }) => grant.eni.eniId === eni.eniId);
      const held = new Map(here.map((lease): [string, Held] => [lease.grant.address.ipv4, heldOf(lease)]));
      const fields = { eni: eni.eniId, status: eni.status, leases: here.length };
      if (suspects.includes(eni.eniId)) log.warn(fields, 'an ENI of ours that nobody knew is taken over');
      else log.debug(fields, 'an ENI of ours that nobody knows is looked at again');
      // What was begun on it may be carried out yet.
      const begun = { intent: intents.of(eni.eniId), going: intents.taking(eni.eniId)?.ips ?? [] };
      return [{ eni, ...begun, ours: true, subnet: subnetOf(vSwitch), held, coolUntilMs, routeTable: null }];
    });
  };

  return cloudKeeperMachine.provide({
    actors: {
      listStrays: fromPromise<At<readonly AdoptedEni[]>, { suspects: readonly string[] }>(async ({ input, signal }) => {
        try {
          const value = await list(input.suspects, signal);
          return { atMs: clock.nowMs(), value };
        } catch (error) {
          log.warn({ error: String(error) }, 'the ENIs of this node could not be listed');
          throw error;
        }
      }),
    },
  });
}
