import t from 'tap';
import { parseConfig } from '../../src/core/config.ts';
import { builtInBlockList } from '../../src/core/managed-enis.ts';
import { defaultPlacementSettings } from '../../src/core/placement-settings.ts';

const parse = (more: object = {}) =>
  parseConfig(JSON.stringify({ access_key: 'id', access_secret: 's', ...more }), 'node-1');
const refusalOf = (more: object): string => {
  try {
    parse(more);
    return 'was taken';
  } catch (thrown) {
    return (thrown as Error).message;
  }
};

t.test('poolKeys: every key reaches its setting', async (t) => {
  const { settings, notes } = parse({
    max_pool_size: 9,
    eni_tags: { team: 'x' },
    eni_tag_filter: { cluster: 'c1' },
    eni_tag_block_list: [{ key: 'keep', value: 'off' }],
    min_eni: 2,
    eni_cap_ratio: 0.5,
    eni_cap_shift: 1,
    eni_selection_policy: 'least_ips',
    vswitch_selection_policy: 'listed',
    ip_warm_up_size: 7,
    idle_ip_reclaim_after: '30m',
    idle_ip_reclaim_interval: '5m',
    idle_ip_reclaim_batch_size: 3,
    idle_ip_reclaim_jitter_factor: '0.25',
    adaptive_pool: true,
    eni_min_age: '2m',
    quota_hold: '90s',
    speed: 10,
  });
  t.match(settings, {
    eniTagFilter: { cluster: 'c1' },
    eniTagBlockList: [{ key: 'keep', value: 'off' }],
    minEnis: 2,
    eniCapRatio: 0.5,
    eniCapShift: 1,
    eniPolicy: 'least_ips',
    vSwitchPolicy: 'listed',
    warmUpSize: 7,
    reclaim: { afterMs: 180_000, intervalMs: 30_000, batchSize: 3, jitterFactor: 0.25 },
    adaptivePool: true,
    minEniAgeMs: 12_000,
    quotaHoldMs: 9_000,
  });
  t.strictSame(settings.eniTags, { team: 'x', cluster: 'c1' }, 'what we make passes our own filter');
  t.strictSame(notes, []);
});

t.test('poolKeys: what is not said, or said as Go writes nothing, has Terway’s default', async (t) => {
  const nothing = {
    eni_tag_filter: null,
    eni_tag_block_list: null,
    min_eni: 0,
    eni_cap_ratio: 0,
    eni_cap_shift: 0,
    eni_selection_policy: '',
    vswitch_selection_policy: '',
    ip_warm_up_size: null,
    idle_ip_reclaim_after: '',
    idle_ip_reclaim_interval: null,
    idle_ip_reclaim_batch_size: 0,
    idle_ip_reclaim_jitter_factor: '',
  };
  for (const keys of [{}, nothing]) t.match(parse(keys).settings, defaultPlacementSettings);
  t.match(defaultPlacementSettings, {
    eniTagBlockList: builtInBlockList,
    eniPolicy: 'most_ips',
    vSwitchPolicy: 'random',
    reclaim: { afterMs: null, intervalMs: 600_000, batchSize: 5, jitterFactor: 0.1 },
    adaptivePool: false,
    minEniAgeMs: 60_000,
    quotaHoldMs: 60_000,
  });
  t.equal(parse({ idle_ip_reclaim_batch_size: -1 }).settings.reclaim.batchSize, 5);
  t.strictSame(parse({ eni_tag_block_list: [] }).settings.eniTagBlockList, [], 'an empty list blocks nothing');
  t.equal(parse({ idle_ip_reclaim_after: '0s' }).settings.reclaim.afterMs, 0, 'zero is not "not said"');
});

t.test('poolKeys: what cannot be meant is refused by name', async (t) => {
  for (const [more, message] of [
    [{ eni_selection_policy: 'fullest' }, /eni_selection_policy: /],
    [{ vswitch_selection_policy: 'first' }, /vswitch_selection_policy: /],
    [{ idle_ip_reclaim_jitter_factor: 'much' }, /idle_ip_reclaim_jitter_factor: /],
    [{ idle_ip_reclaim_jitter_factor: '11' }, /idle_ip_reclaim_jitter_factor: is not between/],
    [{ idle_ip_reclaim_interval: '0s' }, /idle_ip_reclaim_interval: must be longer/],
    [{ idle_ip_reclaim_after: 'soon' }, /idle_ip_reclaim_after: is not a duration/],
    [{ ip_warm_up_size: -1 }, /ip_warm_up_size: /],
    [{ min_eni: 1.5 }, /min_eni: /],
    [{ eni_cap_ratio: -1 }, /eni_cap_ratio: /],
    [{ eni_tag_block_list: [{ key: 'a' }] }, /eni_tag_block_list\.0\.value: /],
    [{ eni_tag_filter: { a: 'b' }, eni_tags: { a: 'c' } }, /eni_tag_filter: asks for another a than eni_tags sets/],
    [{ eni_tag_block_list: [{ key: 'a', value: 'b' }], eni_tags: { a: 'b' } }, /eni_tag_block_list: blocks/],
  ] as const)
    t.match(refusalOf(more), message);
});

t.test('poolKeys: marks that keep nothing are said', async (t) => {
  t.match(parse({ min_eni: 1 }).notes, [{ key: 'min_eni', why: /keeps nothing, since max_pool_size is 0/ }]);
  t.match(parse({ ip_warm_up_size: 5 }).notes, [{ key: 'ip_warm_up_size', why: /warms nothing up/ }]);
});
