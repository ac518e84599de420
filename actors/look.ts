/**
 * What the cloud tells of a node's ENIs: attached to the instance, by our tags, and by the ids that open intents name. Reads only.
 *
 * After a life that left nothing open the first two are asked for at once, while the node is identified, which needs the first in any case: no
 * call of ours is on its way, so that they are as good as ones that are asked a moment later, and a fleet that restarts has a third of the calls
 * less to make. None of the two is left out: an ENI of ours that hangs on nothing takes a place as well.
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
import type { Listings, Told } from './told.ts';

type Known = {
  readonly open: readonly Intent[];
  /** By ENI: what answers said, where a listing may be late about it. */
  readonly answers: ReadonlyMap<string, readonly Said[]>;
  /** The store holds all that it should, and every intent in it can be read. */
  readonly whole: boolean;
};

type Hands = Pick<NodePorts, 'cloud' | 'clock'> & { readonly told: Pick<Told, 'takeListings'> };

/** To be called after the intents were read, so that what they led to is seen; by id too, since tags may be found late. */
export async function look(
  { cloud, clock, told }: Hands,
  { open, answers, whole }: Known,
  facts: NodeFacts,
  settings: Settings,
  signal: AbortSignal,
): Promise<SeenEnis> {
  const right = (enis: readonly CloudEni[], askedMs: number): readonly CloudEni[] =>
    enis.map((eni) => corrected(eni, answers.get(eni.eniId) ?? [], askedMs));
  const ahead = told.takeListings();
  if (ahead !== null && whole && open.length === 0 && agree(ahead, facts, settings)) {
    const { attached, tagged } = ahead;
    return {
      askedMs: Math.min(attached.askedMs, tagged.askedMs),
      attached: right(attached.enis, attached.askedMs),
      tagged: right(tagged.enis, tagged.askedMs),
      byId: [],
    };
  }
  const intended = open.flatMap(({ eniId }) => (eniId === null ? [] : [eniId]));
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

/** One may have waited for its turn for a minute longer than the other: whoever came or went meanwhile is here in one and not in the other. */
function agree({ attached, tagged }: Listings, { instanceId }: NodeFacts, { clusterId }: Settings): boolean {
  const wanted = Object.entries(ownTags(clusterId, instanceId));
  const ours = (enis: readonly CloudEni[]): string =>
    enis
      .filter(({ instanceId: on, tags }) => on === instanceId && wanted.every(([key, value]) => tags[key] === value))
      .map((eni) => `${eni.eniId} ${eni.status} ${[...eni.ipv4].sort()} ${[...eni.ipv6].sort()}`)
      .sort()
      .join('\n');
  return ours(attached.enis) === ours(tagged.enis);
}

/** Asks for our tags while the node is identified, where nothing speaks for a later look. Never rejects. */
export async function lookAhead(
  { store, told, log }: Pick<NodePorts, 'store' | 'log'> & { readonly told: Pick<Told, 'lookAhead'> },
  instanceId: string,
  settings: Settings,
  signal: AbortSignal,
): Promise<void> {
  try {
    const [meta, { open, unreadable }] = await Promise.all([readMeta(store), readIntents(store, log)]);
    if (meta?.whole !== true || meta.instanceId !== instanceId || open.length + unreadable.length > 0) return;
  } catch {
    return; // whoever needs the store tells of it
  }
  await told.lookAhead(ownTags(settings.clusterId, instanceId), signal);
}

/**
 * What was looked at while ENIs were still asked for addresses may be behind an Assign that was not answered before its actor ended: those
 * ENIs are asked after once more, before the like is asked for under another name.
 */
export async function lookOnceMore(
  { cloud, clock }: Pick<NodePorts, 'cloud' | 'clock'>,
  { open, answers }: Pick<Known, 'open' | 'answers'>,
  seen: SeenEnis,
  signal: AbortSignal,
): Promise<SeenEnis> {
  const eniIds = open.flatMap(({ kind, eniId }) => (kind === 'assign' && eniId !== null ? [eniId] : []));
  if (eniIds.length === 0) return seen;
  const askedMs = clock.nowMs();
  const now = new Map(
    (await cloud.describeEnis({ eniIds }, signal)).map((eni) => [
      eni.eniId,
      corrected(eni, answers.get(eni.eniId) ?? [], askedMs),
    ]),
  );
  const renewed = (enis: readonly CloudEni[]): readonly CloudEni[] =>
    enis.map((eni) => {
      const newer = now.get(eni.eniId);
      return newer !== undefined && newer.instanceId === eni.instanceId ? newer : eni;
    });
  return { ...seen, attached: renewed(seen.attached), tagged: renewed(seen.tagged), byId: renewed(seen.byId) };
}

/** All of it while pods are served from memory: what comes after it then needs hardly any time. */
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
