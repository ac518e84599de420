/** What the cloud tells of a node's ENIs, in three listings. Reads only. */
import { fromPromise } from 'xstate';
import type { CloudEni } from '../src/core/eni.ts';
import type { Intent } from '../src/core/intent.ts';
import { corrected, type Said } from '../src/core/late-describe.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import type { Settings } from '../src/core/settings.ts';
import type { At } from '../statecharts/at.ts';
import type { SeenEnis } from '../statecharts/node.ts';
import { readAnswers, readIntents } from './intents.ts';
import type { NodePorts } from './ports.ts';
import { ownTags } from './tags.ts';

type Told = {
  readonly open: readonly Intent[];
  /** By ENI: what answers said, where a listing may be late about it. */
  readonly answers: ReadonlyMap<string, readonly Said[]>;
};

/** To be called after the intents were read, so that what they led to is seen; by id too, since tags may be found late. */
export async function look(
  { cloud, clock }: Pick<NodePorts, 'cloud' | 'clock'>,
  { open, answers }: Told,
  facts: NodeFacts,
  settings: Settings,
  signal: AbortSignal,
): Promise<SeenEnis> {
  const intended = open.flatMap(({ eniId }) => (eniId === null ? [] : [eniId]));
  const right = (enis: readonly CloudEni[]): readonly CloudEni[] =>
    enis.map((eni) => corrected(eni, answers.get(eni.eniId) ?? [], askedMs));
  const askedMs = clock.nowMs();
  const [attached, tagged, byId] = await Promise.all([
    cloud.describeEnis({ instanceId: facts.instanceId }, signal),
    cloud.describeEnis({ tags: ownTags(settings.clusterId, facts.instanceId) }, signal),
    intended.length === 0 ? [] : cloud.describeEnis({ eniIds: intended }, signal),
  ]);
  return { askedMs, attached: right(attached), tagged: right(tagged), byId: right(byId) };
}

/**
 * What was looked at while ENIs were still asked for addresses may be behind an Assign that was not answered before its actor ended: those
 * ENIs are asked after once more, before the like is asked for under another name.
 */
export async function lookOnceMore(
  { cloud, clock }: Pick<NodePorts, 'cloud' | 'clock'>,
  { open, answers }: Told,
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
export function lookLogic({ cloud, store, clock, log }: Pick<NodePorts, 'cloud' | 'store' | 'clock' | 'log'>) {
  return fromPromise<At<SeenEnis>, { facts: NodeFacts; settings: Settings }>(async ({ input, signal }) => {
    const [{ open }, answers] = await Promise.all([readIntents(store, log), readAnswers(store)]);
    const value = await look({ cloud, clock }, { open, answers }, input.facts, input.settings, signal);
    return { atMs: clock.nowMs(), value };
  });
}
