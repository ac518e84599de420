/**
 * Terway's sample configurations and what they come to. The samples are derived from the description of Terway's keys, types and
 * defaults; what is expected of each is what that description says of Terway.
 */
import t from 'tap';
import { configOf } from '../../src/core/config.ts';
import { configKeys, keyNames } from '../../src/core/config-keys.ts';
import { type Layer, layered, layerOf } from '../../src/core/config-layers.ts';
import { configValues, effectiveValue, MASK } from '../../src/core/config-report.ts';
import { stepTo } from '../../src/core/config-step.ts';
import { isObject } from '../../src/core/merge-patch.ts';

const pair = { access_key: 'the-id', access_secret: 'TOPSECRET' };
const file = (keys: object): Layer => ({ source: 'file', keys: { ...pair, ...keys } });
const overlay = (keys: object): Layer => ({ source: 'overlay gpu', keys: { ...keys } });
function read(...layers: readonly Layer[]) {
  const all = layered(layers);
  return { layered: all, config: configOf(all.keys, 'node-1') };
}
function table(...layers: readonly Layer[]): Record<string, { value: unknown; words: string | null; source: string }> {
  const { layered: all, config } = read(...layers);
  return Object.fromEntries(keyNames.map((key) => [key, effectiveValue(key, all, config)]));
}

t.test('Terway sample: nothing but keys; every value is Terway’s default', async (t) => {
  const { settings } = read(file({ version: '1' })).config;
  t.match(settings, {
    ipStack: 'ipv4',
    minIdle: 0,
    maxIdle: 0,
    minEnis: 0,
    maxEnis: null,
    eniCapRatio: 1,
    eniCapShift: 0,
    vSwitchPolicy: 'random',
    eniPolicy: 'most_ips',
    vSwitchIds: null,
    securityGroupIds: null,
    poolPeriodMs: 120_000,
    reclaim: { afterMs: null, intervalMs: 600_000, batchSize: 5, jitterFactor: 0.1 },
    statefulKinds: [],
  });
  for (const [key, { source }] of Object.entries(table(file({}))))
    t.equal(source, key.startsWith('access_') ? 'file' : 'default', key);
});

t.test('Terway sample: pool settings', async (t) => {
  const keys = {
    max_pool_size: 5,
    min_pool_size: 8,
    min_eni: 2,
    max_eni: 4,
    eni_cap_ratio: 0.5,
    eni_cap_shift: 1,
    idle_ip_reclaim_after: '30m',
    idle_ip_reclaim_batch_size: -1,
    idle_ip_reclaim_jitter_factor: '0.2',
    ip_pool_sync_period: '60s',
    eni_selection_policy: 'least_ips',
  };
  t.match(read(file(keys)).config.settings, {
    maxIdle: 5,
    minIdle: 5, // since v1.7 the low mark is lowered to the high one
    minEnis: 2,
    maxEnis: 4,
    eniCapRatio: 0.5,
    eniCapShift: 1,
    poolPeriodMs: 60_000,
    reclaim: { afterMs: 1_800_000, intervalMs: 600_000, batchSize: 5, jitterFactor: 0.2 },
    eniPolicy: 'least_ips',
  });
  t.match(table(file(keys)), {
    min_pool_size: { value: 5, source: 'file' },
    pool_period: { value: '60s', source: 'ip_pool_sync_period, file' },
    idle_ip_reclaim_batch_size: { value: 5, source: 'file' },
  });
});

t.test('Terway sample: dual stack, groups in both keys, StatefulSet kinds', async (t) => {
  const keys = {
    ip_stack: 'dual',
    security_group: 'sg-b',
    security_groups: ['sg-c', 'sg-a', 'sg-b'],
    custom_stateful_workload_kinds: ['CloneSet'],
    service_cidr: '172.16.0.0/16,fd00::/112',
  };
  const { settings, serviceCidr } = read(file(keys)).config;
  t.match(settings, { ipStack: 'dual', securityGroupIds: ['sg-a', 'sg-b', 'sg-c'], statefulKinds: ['cloneset'] });
  t.strictSame(serviceCidr, { IPv4: '172.16.0.0/16', IPv6: 'fd00::/112' });
  t.strictSame(table(file(keys)).security_groups, { value: ['sg-a', 'sg-b', 'sg-c'], words: null, source: 'file' });
});

t.test(
  'Terway sample: vSwitch lists, `ordered`, and an overlay that deletes one zone and changes another',
  async (t) => {
    const base = file({
      vswitches: { 'cn-a': ['vsw-1', 'vsw-2', 'vsw-1'], 'cn-b': ['vsw-3'], 'cn-c': ['vsw-4'] },
      vswitch_selection_policy: 'ordered',
      security_groups: ['sg-a', 'sg-b'],
      max_pool_size: 5,
    });
    t.match(read(base).config.settings, {
      vSwitchIds: { 'cn-a': ['vsw-1', 'vsw-2'], 'cn-b': ['vsw-3'], 'cn-c': ['vsw-4'] },
      vSwitchPolicy: 'ordered',
    });
    const patch = overlay({
      vswitches: { 'cn-a': ['vsw-9'], 'cn-b': null },
      security_groups: ['sg-z'],
      max_pool_size: null,
      min_pool_size: 0,
    });
    t.strictSame(
      read(base, patch).config.settings.vSwitchIds,
      { 'cn-a': ['vsw-9'], 'cn-c': ['vsw-4'] },
      'null takes a zone away, a list is replaced whole, another zone stays',
    );
    t.match(read(base, patch).config.settings, { securityGroupIds: ['sg-z'], maxIdle: 0 });
    t.match(table(base, patch), {
      vswitches: { source: 'file, overlay gpu' },
      vswitch_selection_policy: { value: 'ordered', source: 'file' },
      security_groups: { value: ['sg-z'], source: 'overlay gpu' },
      max_pool_size: { value: 0, source: 'default, overlay gpu takes it away' },
      min_pool_size: { value: 0, source: 'overlay gpu' },
    });
  },
);

t.test('Terway sample: tags, a tag filter, the block list', async (t) => {
  const keys = { eni_tags: { team: 'x' }, eni_tag_filter: { cluster: 'c1' } };
  t.match(read(file(keys)).config.settings, {
    eniTags: { team: 'x', cluster: 'c1' },
    eniTagFilter: { cluster: 'c1' },
    eniTagBlockList: [
      { key: 'creator', value: 'alibabacloud-erdma-controller' },
      { key: 'terway.alibabacloud.com/excluded', value: 'true' },
      { key: 'creator', value: 'terway-controller' },
    ],
  });
  t.match(table(file(keys)), { eni_tags: { value: { team: 'x', cluster: 'c1' } } });
});

t.test('config keys: each default, said aloud, is the same as silence', async (t) => {
  const defaults = Object.entries(configKeys).flatMap(([key, { otherwise }]) =>
    key.startsWith('access_') || (isObject(otherwise) && 'words' in otherwise) ? [] : [[key, otherwise] as const],
  );
  const { notes: _, ...said } = read(file(Object.fromEntries(defaults))).config;
  const { notes: __, ...silent } = read(file({})).config;
  t.strictSame(said, silent);
  t.ok(defaults.length > 40);
});

t.test('config values: in mode VPC what is about ENIs holds nothing, whoever says it', async (t) => {
  const vpc = { daemon_mode: 'VPC', pod_range: ['10.0.0.0/8'] };
  const { config, layered } = read(file({ ...vpc, min_pool_size: 5, max_pool_size: 9, security_group: 'sg-a' }));
  const of = (key: string) => configValues(layered, config, null).find((value) => value.key === key);
  const nothing = { value: null, words: 'not used: daemon_mode is VPC' };
  t.match(of('max_pool_size'), { ...nothing, source: 'file', note: 'is not used: daemon_mode is VPC' });
  t.match(of('security_groups'), nothing);
  t.match(of('vswitches'), { ...nothing, source: 'default', note: null });
  t.match(of('cool_down'), { value: '30s', words: null, note: null }, 'what is about addresses holds');
  const shared = read(file({ min_pool_size: 5, max_pool_size: 9 }));
  t.match(
    configValues(shared.layered, shared.config, null).find(({ key }) => key === 'max_pool_size'),
    { value: 9, words: null, note: null },
  );
});

t.test('config values: secrets are masked, also those that wait', async (t) => {
  const now = read(file({ speed: 1 }));
  const wanted = read({ source: 'file', keys: { ...pair, access_secret: 'NEWSECRET', speed: 2 } });
  const values = configValues(now.layered, now.config, wanted);
  const text = JSON.stringify(values);
  t.notMatch(text, /the-id|TOPSECRET|NEWSECRET/);
  const of = (key: string) => values.find((value) => value.key === key);
  t.match(of('access_secret'), { value: MASK, pending: { value: MASK } });
  t.match(of('speed'), { value: 1, pending: { value: 2, source: 'file' }, change: 'restart' });
  t.match(of('access_key'), { value: MASK, pending: null });
});

t.test('config step: live keys are taken, the others wait, and what is taken stands by itself', async (t) => {
  const now = read(file({ max_pool_size: 5, mtu: 1500 }));
  const wanted = read(file({ max_pool_size: 7, mtu: 8500, cool_down: '5s' }));
  const step = stepTo(now, wanted, 'node-1');
  t.strictSame([step.taken, step.pending], [['max_pool_size', 'cool_down'], ['mtu']]);
  t.match(step.next.config.settings, { maxIdle: 7, mtu: 1500, coolDownMs: 5_000 });
  const again = stepTo(step.next, wanted, 'node-1');
  t.strictSame([again.taken, again.pending], [[], ['mtu']], 'taken once');
  const back = stepTo(step.next, now, 'node-1');
  t.strictSame([back.taken, back.pending], [['max_pool_size', 'cool_down'], []]);
  t.strictSame(back.next.config, now.config);

  const filtered = read(file({ eni_tag_filter: { a: '1' } }));
  const other = read(file({ eni_tag_filter: { a: '2' }, eni_tags: { a: '2' } }));
  t.throws(() => stepTo(filtered, other, 'node-1'), { message: /eni_tag_filter: asks for another a/ });
});

t.test('config layers: text that is no object is refused by its layer without a word of it', async (t) => {
  for (const text of ['', '[]', '{"access_secret":TOPSECRET}'])
    t.throws(() => layerOf('overlay x', text), { message: /^code: InvalidArgs, msg: config is not (a )?JSON[^T]*$/ });
});
