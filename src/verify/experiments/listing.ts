/** Describe: unknown ids, filters and pages. Nothing is changed. */
import type { Bench } from '../bench.ts';
import { notTried, toldApart } from '../finding.ts';
import type { SeenEni } from '../raw-cloud.ts';

const UNKNOWN_ENI = 'eni-enactor0verify0none';
/** The smallest page that can be asked for. Source: DescribeNetworkInterfaces, MaxResults. */
const PAGE_MIN = 10;
const PAGES_MAX = 60;

export async function listing(bench: Bench, eni: SeenEni): Promise<void> {
  const { raw, plan } = bench;
  bench.doing('lists are read');
  const none = await raw.describe({ eniIds: [UNKNOWN_ENI] });
  bench.found(
    toldApart(
      'unknownEniId',
      'of an unknown id Describe says nothing',
      'an empty list',
      none.ok ? (none.value.enis.length === 0 ? 'an empty list' : 'an ENI') : `refused: ${none.code}`,
      null,
    ),
  );

  const [[key = '', value = ''] = []] = Object.entries(plan.tags);
  const both = await raw.describe({ tags: { [key]: value, 'enactor/verify-none': 'none' } });
  const assumed = 'an ENI has to have all tags that are asked for';
  if (!both.ok) bench.found(notTried('tagFilters', assumed, `refused: ${both.code}`));
  else {
    const tagFilters = both.value.enis.some((one) => one.eniId === eni.eniId) ? 'any' : 'all';
    bench.found(
      toldApart<'all' | 'any'>(
        'tagFilters',
        assumed,
        'all',
        tagFilters,
        { tagFilters, delays: {} },
        (one) => `${one} of them`,
      ),
    );
  }
  await pages(bench, eni);
}

/** A page that is shorter than asked for and not the last one tells the bound of pages; one that never ends is a fault. */
async function pages(bench: Bench, eni: SeenEni): Promise<void> {
  const { raw, plan } = bench;
  const name = 'pages';
  const assumed = 'pages are as long as asked for, the last has no NextToken, and all of them together are the list';
  const ids = new Set<string>();
  let bound: number | null = null;
  let nextToken: string | null = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const reply = await raw.describe({
      ...{ vSwitchId: plan.vSwitchId, maxResults: PAGE_MIN },
      ...(nextToken !== null && { nextToken }),
    });
    if (!reply.ok) return bench.found(notTried(name, assumed, `page ${page + 1} is refused: ${reply.code}`));
    for (const one of reply.value.enis) ids.add(one.eniId);
    nextToken = reply.value.nextToken;
    if (nextToken === null) break;
    const { length } = reply.value.enis;
    if (length < PAGE_MIN) bound = Math.max(bound ?? 1, length);
  }
  const seen = [
    nextToken === null ? null : `no end after ${PAGES_MAX} pages`,
    bound === null ? null : `pages of ${bound} where ${PAGE_MIN} were asked for`,
    nextToken !== null || ids.has(eni.eniId) ? null : 'the new ENI is on none of the pages',
  ].filter((one) => one !== null);
  bench.found({
    ...{ name, assumed, seen: seen.length === 0 ? `${ids.size} ENIs, as assumed` : seen.join('; ') },
    verdict: seen.length === 0 ? 'agrees' : 'differs',
    settings: bound === null ? null : { pageMax: bound, delays: {} },
  });
}
