/**
 * Takes away every ENI that has all of these tags: detached where it is attached, then deleted, until the cloud has shown none of them
 * twice with some time between, since a list may be behind. Whatever was refused is asked again until then.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { failureOf } from '../core/errors.ts';
import type { RawCloud, SeenEni } from './raw-cloud.ts';

const EMPTY_LOOKS = 2;

export type CleanUp = {
  readonly removed: readonly string[];
  /** Those that are still there when time is up, each with the last thing the cloud said. */
  readonly left: readonly { readonly eniId: string; readonly why: string }[];
};

export async function cleanUp(
  raw: RawCloud,
  tags: Readonly<Record<string, string>>,
  { pauseMs, limitMs }: { readonly pauseMs: number; readonly limitMs: number },
): Promise<CleanUp> {
  const seen = new Set<string>();
  const said = new Map<string, string>();
  const untilMs = performance.now() + limitMs;
  let left: readonly SeenEni[] = [];
  let empty = 0;
  while (empty < EMPTY_LOOKS && performance.now() < untilMs) {
    try {
      left = await tagged(raw, tags);
      for (const eni of left) seen.add(eni.eniId);
      empty = left.length === 0 ? empty + 1 : 0;
      for (const eni of left) await pushOn(raw, eni, said);
    } catch (error) {
      empty = 0;
      for (const { eniId } of left) said.set(eniId, failureOf(error).detail);
    }
    if (empty < EMPTY_LOOKS) await wait(pauseMs);
  }
  const stays = new Set(empty < EMPTY_LOOKS ? left.map((eni) => eni.eniId) : []);
  return {
    removed: [...seen].filter((eniId) => !stays.has(eniId)),
    left: [...stays].map((eniId) => ({ eniId, why: said.get(eniId) ?? 'it is on its way' })),
  };
}

async function pushOn(raw: RawCloud, eni: SeenEni, said: Map<string, string>): Promise<void> {
  const { eniId, instanceId } = eni;
  const reply =
    eni.status === 'Available'
      ? await raw.remove(eniId)
      : eni.status === 'InUse' && instanceId
        ? await raw.detach(eniId, instanceId)
        : null;
  if (reply !== null && !reply.ok) said.set(eniId, `${reply.code}: ${reply.message}`);
}

/** All pages. Rejects with what the cloud said. */
async function tagged(raw: RawCloud, tags: Readonly<Record<string, string>>): Promise<SeenEni[]> {
  const enis: SeenEni[] = [];
  for (let nextToken: string | null = null; ; ) {
    const reply = await raw.describe({ tags, ...(nextToken !== null && { nextToken }) });
    if (!reply.ok) throw new Error(`${reply.code}: ${reply.message}`);
    enis.push(...reply.value.enis);
    nextToken = reply.value.nextToken;
    if (nextToken === null) return enis;
  }
}
