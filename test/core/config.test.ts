import t from 'tap';
import { parseConfig } from '../../src/core/config.ts';
import { defaultKeeperSettings } from '../../src/core/keeper-settings.ts';
import { defaultPlacementSettings } from '../../src/core/placement-settings.ts';
import { defaultSettings } from '../../src/core/settings.ts';

const keys = { access_key: 'id', access_secret: 'TOPSECRET' };
const parse = (more: object = {}) => parseConfig(JSON.stringify({ ...keys, ...more }), 'node-1');

function refusal(text: string): string {
  try {
    parseConfig(text, 'node-1');
    return 'was taken';
  } catch (thrown) {
    return (thrown as Error).message;
  }
}
const refusalOf = (more: object) => refusal(JSON.stringify({ ...keys, ...more }));

t.test('config: what is not said has its default', async (t) => {
  const config = parse();
  t.strictSame(config.settings, { ...defaultSettings, nodeName: 'node-1' });
  t.match(config, {
    credentials: {
      keyPair: { accessKeyId: 'id', accessKeySecret: 'TOPSECRET' },
      tokenFile: null,
      ramRole: null,
      source: null,
    },
    eniLinkKinds: ['device'],
    replyPaths: true,
    serviceCidr: null,
    notes: [],
  });
});

t.test('config: every key reaches its setting', async (t) => {
  const { settings, ...rest } = parse({
    cluster_id: 'c1',
    vswitches: { 'cn-a': ['vsw-1', 'vsw-2'], 'cn-b': ['vsw-3', 'vsw-1'] },
    security_group: 'sg-2',
    security_groups: ['sg-3', 'sg-1', 'sg-2'],
    eni_tags: { team: 'x' },
    ip_stack: 'dual',
    min_pool_size: 2,
    max_pool_size: 7,
    max_eni: 3,
    mtu: 8500,
    cool_down: '1s',
    pool_period: '2s',
    cloud_period: '4m',
    describe_period: '3s',
    attach_timeout: '4s',
    settle_timeout: '5s',
    detach_timeout: '6s',
    call_timeout: '7s',
    backoff: '8s',
    backoff_max: '9s',
    hold_down: '10m',
    custom_stateful_workload_kinds: ['CloneSet'],
    ip_reservation: '6m',
    ip_reservation_yields: false,
    pool_pauses_when_cordoned: false,
    read_only: true,
    gc_period: '2m',
    gc_grace: '3m',
    gc_timeout: '20s',
    waiting_max: 5,
    inputs_max: 7,
    full_node: 'status',
    full_node_hold: '2s',
    enable_patch_pod_ips: false,
    address_resource: 'example.com/address',
    eni_device_plugin: true,
    event_after: '3s',
    node_period: '1m',
    node_write_interval: '4s',
    eni_link_kinds: ['device', 'veth'],
    rate_limit: { CreateNetworkInterface: 10 },
    service_cidr: '172.16.0.0/16,fd00::/112',
  });
  t.strictSame(settings, {
    ...defaultPlacementSettings,
    ...defaultKeeperSettings,
    fullNode: 'status',
    fullNodeHoldMs: 2_000,
    patchPodIps: false,
    addressResource: 'example.com/address',
    eniDevicePlugin: true,
    eventAfterMs: 3_000,
    nodePeriodMs: 60_000,
    nodeWriteMs: 4_000,
    nodeName: 'node-1',
    clusterId: 'c1',
    ipStack: 'dual',
    minIdle: 2,
    maxIdle: 7,
    maxEnis: 3,
    vSwitchIds: { 'cn-a': ['vsw-1', 'vsw-2'], 'cn-b': ['vsw-3', 'vsw-1'] },
    securityGroupIds: ['sg-1', 'sg-2', 'sg-3'],
    eniTags: { team: 'x' },
    mtu: 8500,
    coolDownMs: 1_000,
    poolPeriodMs: 2_000,
    cloudPeriodMs: 240_000,
    describePeriodMs: 3_000,
    attachTimeoutMs: 4_000,
    settleTimeoutMs: 5_000,
    detachTimeoutMs: 6_000,
    callTimeoutMs: 7_000,
    backoffMs: 8_000,
    backoffMaxMs: 9_000,
    holdDownMs: 600_000,
    waitingMax: 5,
    reserveMs: 360_000,
    statefulKinds: ['cloneset'],
    reservationsYield: false,
    pausesWhenCordoned: false,
    readOnly: true,
    gcPeriodMs: 120_000,
    gcGraceMs: 180_000,
    gcTimeoutMs: 20_000,
    inputsMax: 7,
  });
  t.match(rest, {
    eniLinkKinds: ['device', 'veth'],
    replyPaths: true,
    rateLimits: { CreateNetworkInterface: 10 },
    serviceCidr: { IPv4: '172.16.0.0/16', IPv6: 'fd00::/112' },
  });
});

t.test('config: speed divides every duration, the defaults too, and nothing positive becomes nothing', async (t) => {
  const { settings } = parse({ speed: 10, cool_down: '0s', backoff: '1ms' });
  t.match(settings, { coolDownMs: 0, backoffMs: 1, attachTimeoutMs: 6_000, holdDownMs: 60_000, waitingMax: 1_000 });
});

t.test('config: the high water mark wins, and that is noted', async (t) => {
  const { settings, notes } = parse({ min_pool_size: 5, max_pool_size: 3 });
  t.match(settings, { minIdle: 3, maxIdle: 3 });
  t.strictSame(notes, [{ key: 'min_pool_size', why: 'lowered from 5 to max_pool_size, 3' }]);
});

t.test('config: the result cannot be changed', async (t) => {
  const config = parse({ vswitches: { a: ['vsw-1'] } });
  t.ok(Object.isFrozen(config) && Object.isFrozen(config.settings) && Object.isFrozen(config.settings.vSwitchIds));
});

t.test('config: every refusal names the key and keeps the secret', async (t) => {
  const cases: [object, RegExp][] = [
    [{ no_such_key: 1 }, /config: no_such_key: no such key/],
    [{ access_secret: '' }, /access_secret: is missing/],
    [{ access_key: '' }, /access_key: is missing/],
    [{ access_key: '', access_secret: '', credential_source: 'config' }, /access_key: is missing, credential_source/],
    [{ credential_source: 'token_file' }, /credential_path: is missing/],
    [{ credential_source: 'somewhere' }, /credential_source: /],
    [{ access_secret: ['TOPSECRET'] }, /access_secret: /],
    [{ min_pool_size: -1 }, /min_pool_size: /],
    [{ full_node: 'NotReady' }, /full_node: /],
    [{ address_resource: 'address' }, /address_resource: is no name/],
    [{ address_resource: 'kubernetes.io/address' }, /address_resource: is no name/],
    [{ min_pool_size: '5' }, /min_pool_size: /],
    [{ min_pool_size: 1.5 }, /min_pool_size: /],
    [{ mtu: 100 }, /mtu: /],
    [{ cool_down: '-5s' }, /cool_down: is not a duration/],
    [{ cool_down: 30 }, /cool_down: /],
    [{ cool_down: '' }, /cool_down: is not a duration/],
    [{ hold_down: '900h' }, /hold_down: is longer than a week/],
    [{ attach_timeout: '0s' }, /attach_timeout: must be longer than nothing/],
    [{ backoff: '10s', backoff_max: '5s' }, /backoff_max: is shorter than backoff/],
    [{ speed: 0 }, /speed: /],
    [{ speed: -1 }, /speed: /],
    [{ vswitches: { a: 'vsw-1' } }, /vswitches\.a: /],
    [
      { security_groups: Array.from({ length: 11 }, (_, n) => `sg-${n}`) },
      /security_groups: names 11 groups; the limit is 10/,
    ],
    [{ eni_tags: { a: 1 } }, /eni_tags\.a: /],
    [
      { eni_tags: Object.fromEntries(Array.from({ length: 18 }, (_, n) => [`k${n}`, ''])) },
      /eni_tags: has more than 16/,
    ],
    [{ service_cidr: '172.16.0.0/33' }, /service_cidr: /],
    [{ service_cidr: 'fd00::/112' }, /service_cidr: /],
    [{ rate_limit: { X: 0 } }, /rate_limit\.X: /],
    [{ eni_link_kinds: [] }, /eni_link_kinds: /],
    [{ eni_link_kinds: ['bridge'] }, /eni_link_kinds\.0: /],
    [{ waiting_max: 0 }, /waiting_max: /],
    [{ inputs_max: -1 }, /inputs_max: /],
  ];
  for (const [more, message] of cases) {
    const said = refusalOf(more);
    t.match(said, message);
    t.match(said, /^code: InvalidArgs, msg: config/);
    t.notMatch(said, /TOPSECRET/);
  }
});

t.test('config: all that is wrong is told at once, each with its key, and a near name is offered', async (t) => {
  const said = refusalOf({
    min_pool_size: -1,
    max_pool_sizes: 3,
    cool_down: 'soon',
    enable_erdma: true,
    backoff: '10s',
    backoff_max: '5s',
    access_secret: null,
  });
  for (const part of [
    'config: enable_erdma: eRDMA is not supported',
    'config: min_pool_size: ',
    'config: cool_down: is not a duration such as 30s, 10m or 500ms',
    'config: max_pool_sizes: no such key; is max_pool_size meant?',
    'config: backoff_max: is shorter than backoff',
    'config: access_secret: is missing, access_key is set',
  ])
    t.ok(said.includes(part), part);
  t.equal(said.split('config: ').length - 1, 6);
  t.notMatch(refusalOf({ access_secret: 5 }), /is missing/, 'what follows from another fault is not told');
});

t.test('config: what Go writes for nothing is nothing', async (t) => {
  const nothing = { vswitches: null, security_group: null, security_groups: null, eni_tags: null, ip_stack: null };
  const more = { max_eni: null, min_pool_size: null, ip_pool_sync_period: '', rate_limit: null, service_cidr: '' };
  t.strictSame(parse({ ...nothing, ...more }), parse());
});

t.test('config: credentials may come from elsewhere', async (t) => {
  const { credentials } = parse({
    access_key: '',
    access_secret: '',
    ram_role: 'Worker',
    credential_source: 'ram_role',
  });
  t.strictSame(credentials, { keyPair: null, tokenFile: null, ramRole: 'Worker', source: 'ramRole' });
  t.match(parse({ credential_path: '/var/addon/token' }).credentials, { tokenFile: '/var/addon/token' });
  t.match(parse({ credential_path: null }).credentials, { tokenFile: null });
});

t.test('config: broken text is refused without quoting it', async (t) => {
  for (const text of ['', '{"access_secret":"TOPSECRET",}', '{"access_secret":TOPSECRET}', '[]', 'null', '"x"']) {
    const said = refusal(text);
    t.match(said, /config is not/);
    t.notMatch(said, /TOPSECRET|SECRET/);
  }
});

t.test(
  'config: Terway’s keys that would change behaviour are refused with a sentence, the harmless are not',
  async (t) => {
    for (const [more, message] of [
      [{ ip_stack: 'ipv6' }, /ip_stack: IPv6 alone is not supported/],
      [{ ip_stack: 'both' }, /ip_stack: /],
      [{ enable_eni_trunking: true }, /enable_eni_trunking: trunk/],
      [{ enable_erdma: true }, /enable_erdma: eRDMA/],
      [{ ipam_type: 'crd' }, /ipam_type: /],
      [{ enable_ip_prefix: true }, /enable_ip_prefix: /],
    ] as const)
      t.match(refusalOf(more), message);
    const { notes } = parse({
      version: '1',
      region_id: 'cn-lab',
      ip_stack: 'ipv4',
      enable_eni_trunking: false,
      ipam_type: '',
      eni_tag_filter: {},
      min_eni: 0,
      eni_cap_ratio: 1,
      kube_client_qps: 5,
    });
    t.strictSame(
      notes,
      ['version', 'region_id', 'kube_client_qps'].map((key) => ({ key, why: 'has no effect here' })),
    );
  },
);

t.test('config: an unknown key with a dot in its name is told like any other, beside what else is wrong', async (t) => {
  // Found by npm run fuzz: zod's own error came out.
  const text = JSON.stringify({ security_groups: [0], '0.1': [], 'rate_limit.x': 1 });
  t.throws(() => parseConfig(text, 'n1'), {
    code: 'invalidArgument',
    message: /security_groups[\s\S]*0\.1|0\.1[\s\S]*security_groups/,
  });
});
