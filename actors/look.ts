/**
 * What the cloud tells of a node's ENIs, in three listings. Reads only.
 *
 * After a life that left nothing open there is only one: no call of ours is on its way, so that what identifying saw a moment ago is as it
 * was, and an ENI of ours that hangs on nothing is found by the cloud keeper, as in any hour of a life. A fleet that restarts has a third of
 * the listings to make then.
 */
import { fromPromise } from 'xstate';
import type { CloudEni } from '../src/core/eni.ts';
import type { Intent } from '../src/core/intent.ts';
import { corrected, type Said } from '../src/core/late-describe.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import type { Settings } from '../src/core/settings.ts';
import type { At } from '../statecharts/at.ts';
import type { SeenEnis } from '../statecharts/node.ts';
import { readMeta } from './claim-store.ts';
import { readAnswers, readIntents } from './intents.ts';
import type { NodePorts } from './ports.ts';
import { ownTags } from './tags.ts';
import type { Told } from './told.ts';

type Known = {
  readonly open: readonly Intent[];
  /** By ENI: what answers said, where a listing may be late about it. */
  readonly answers: ReadonlyMap<string, readonly Said[]>;
  /** The store holds all that it should, and every intent in it can be read. */
  readonly whole: boolean;
};
type Hands = Pick<NodePorts, 'cloud' | 'clock'> & { readonly told: Pick<Told, 'takeAttached'> };

/** To be called after the intents were read, so that what they led to is seen; by id too, since tags may be found late. */
export async function look(
  { cloud, clock, told }: Hands,
  { open, answers, whole }: Known,
  facts: NodeFacts,
  settings: Settings,
  signal: AbortSignal,
): Promise<SeenEnis> {
  const intended = open.flatMap(({ eniId }) => (eniId === null ? [] : [eniId]));
  const right = (enis: readonly CloudEni[], askedMs: number): readonly CloudEni[] =>
    enis.map((eni) => corrected(eni, answers.get(eni.eniId) ?? [], askedMs));
  const seen = told.takeAttached();
  if (whole && open.length === 0) {
    const askedMs = seen?.askedMs ?? clock.nowMs();
    const attached = seen?.enis ?? (await cloud.describeEnis({ instanceId: facts.instanceId }, signal));
    return { askedMs, attached: right(attached, askedMs), tagged: [], byId: [] };
  }
  const askedMs = clock.nowMs();
  const [attached, tagged, byId] = await Promise.all([
    cloud.describeEnis({ instanceId: facts.instanceId }, signal),
    cloud.describeEnis({ tags: ownTags(settings.clusterId, facts.instanceId) }, signal),
    intended.length === 0 ? [] : cloud.describeEnis({ eniIds: intended }, signal),
  ]);
  return {
    askedMs,
    attached: right(attached, askedMs),
    tagged: right(tagged, askedMs),
    byId: right(byId, askedMs),
  };
}

/** The same while pods are served from memory: what comes after it then needs hardly any time. */
export function lookLogic(hands: Hands & Pick<NodePorts, 'store' | 'log'>) {
  const { store, clock, log } = hands;
  return fromPromise<At<SeenEnis>, { facts: NodeFacts; settings: Settings }>(async ({ input, signal }) => {
    const [{ open, unreadable }, answers, meta] = await Promise.all([
      readIntents(store, log),
      readAnswers(store),
      readMeta(store),
    ]);
    const whole = meta?.whole === true && unreadable.length === 0;
    const value = await look(hands, { open, answers, whole }, input.facts, input.settings, signal);
    return { atMs: clock.nowMs(), value };
  });
}
