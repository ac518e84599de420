/**
 * Conformance of what the plugin takes and refuses: each broken call is one error object on stdout and exit 1, and costs no
 * address. Source: CNI SPEC 1.1; facts/peers 3.7, points 1 to 17 (their numbers in brackets).
 */
import { existsSync } from 'node:fs';
import { test } from 'tap';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import {
  argsOf,
  type Bench,
  cannotRunPlugin,
  type Given,
  pluginBench,
  type Ran,
  startPlugin,
} from './plugin-process.ts';

const skip = cannotRunPlugin();

type Expected = { readonly code: number; readonly msg: RegExp };

function isOneError(ran: Ran): boolean {
  const { cniVersion, code, msg } = ran.json();
  return ran.exitCode === 1 && typeof cniVersion === 'string' && typeof code === 'number' && typeof msg === 'string';
}

async function withBench(
  t: Parameters<typeof pluginBench>[0],
): Promise<Bench & { host: TestNamespace; pod: TestNamespace }> {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  return { ...(await pluginBench(t, pod)), host, pod };
}

test('plugin input: without CNI_COMMAND it tells what it is, on stderr [1]', { skip }, async (t) => {
  const ran = await startPlugin(null, {});
  t.strictSame([ran.exitCode, ran.stdout], [0, '']);
  t.match(ran.stderr, /CNI plugin.*0\.3\.0, 0\.3\.1, 0\.4\.0, 1\.0\.0/);
});

test('plugin input: environment, each fault with its code and its variable’s name [2-5, 13]', { skip }, async (t) => {
  const { host, conf, env, daemon } = await withBench(t);
  const without = (...names: string[]): Record<string, string> => {
    const given = env('ADD');
    for (const name of names) delete given[name];
    return given;
  };
  const all = ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME', 'CNI_PATH'];
  const withArgs = (text: string): Given => ({ env: env('ADD', { CNI_ARGS: text }) });
  const cases: [string, Given, Expected][] = [
    ['FOO', { env: env('FOO') }, { code: 4, msg: /CNI_COMMAND "FOO"/ }],
    ['lower case', { env: env('add') }, { code: 4, msg: /CNI_COMMAND "add"/ }],
    ['FOO with bad stdin', { env: env('FOO'), stdin: '{' }, { code: 6, msg: /stdin/ }],
    ...all.map((name): [string, Given, Expected] => [
      `no ${name}`,
      { env: without(name) },
      { code: 4, msg: new RegExp(name) },
    ]),
    ['nothing set', { env: without(...all) }, { code: 4, msg: new RegExp(all.join(', ')) }],
    [
      'empty',
      { env: env('ADD', { CNI_CONTAINERID: '', CNI_IFNAME: '' }) },
      { code: 4, msg: /CNI_CONTAINERID, CNI_IFNAME/ },
    ],
    ...['-abc', 'a/b', 'a b', 'ä'].map((id): [string, Given, Expected] => [
      `container id ${id}`,
      { env: env('ADD', { CNI_CONTAINERID: id }) },
      { code: 4, msg: /CNI_CONTAINERID/ },
    ]),
    ...['0123456789abcdef', '.', '..', 'a/b', 'a:b', 'a\tb', 'eth%d', 'öööööööö'].map(
      (name): [string, Given, Expected] => [
        `interface ${name}`,
        { env: env('ADD', { CNI_IFNAME: name }) },
        { code: 4, msg: /CNI_IFNAME/ },
      ],
    ),
    [
      'malformed and missing at once',
      { env: { ...without('CNI_NETNS'), CNI_CONTAINERID: '-abc' } },
      { code: 4, msg: /CNI_CONTAINERID.*CNI_NETNS/ },
    ],
    ...['A', 'A=B=C', ';;', `${argsOf('p')};`, '=x'].map((text): [string, Given, Expected] => [
      `args ${text}`,
      withArgs(text),
      { code: 4, msg: /CNI_ARGS/ },
    ]),
    ['unknown key', withArgs('K8S_POD_NAMESPACE=a;K8S_POD_NAME=b;X=1'), { code: 4, msg: /CNI_ARGS.*X/ }],
    [
      'IgnoreUnknown=maybe',
      withArgs('K8S_POD_NAMESPACE=a;K8S_POD_NAME=b;IgnoreUnknown=maybe'),
      { code: 4, msg: /IgnoreUnknown=maybe/ },
    ],
    ['no pod', withArgs(''), { code: 4, msg: /K8S_POD_NAMESPACE, K8S_POD_NAME/ }],
    ['GC without path', { env: without(...all), stdin: conf() }, { code: 4, msg: /CNI_PATH/ }],
  ];
  for (const [name, given, { code, msg }] of cases) {
    const ran = await startPlugin(host, { stdin: conf(), ...given });
    t.ok(isOneError(ran), name);
    t.match(ran.json(), { code, msg }, name);
  }
  t.strictSame(daemon.calls, [], 'the daemon was never asked');
  t.strictSame(host.ip('-o', 'link').match(/cali/), null);
});

test('plugin input: a container id of 1 KiB and IgnoreUnknown=true are taken, by ADD and by DEL [4, 13]', {
  skip,
}, async (t) => {
  const { host, conf, env } = await withBench(t);
  const CNI_CONTAINERID = 'a'.repeat(1024);
  const CNI_ARGS = 'IgnoreUnknown=true;K8S_POD_NAMESPACE=a;K8S_POD_NAME=b;X=1';
  for (const command of ['ADD', 'DEL']) {
    const ran = await startPlugin(host, { env: env(command, { CNI_CONTAINERID, CNI_ARGS }), stdin: conf() });
    t.equal(ran.exitCode, 0, ran.stdout);
  }
});

test('plugin input: stdin, each fault with its code [6-8, 11, 12]', { skip }, async (t) => {
  const { host, conf, env, daemon } = await withBench(t);
  const nested = `{"name":"a","x":${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  const cases: [string, Given, Expected][] = [
    ...['', '{', '[]', '"x"', '42', `${conf()}${conf()}`, `${conf()} x`, `\ufeff${conf()}`].map(
      (stdin): [string, Given, Expected] => [`stdin ${stdin.slice(0, 20)}`, { stdin }, { code: 6, msg: /stdin/ }],
    ),
    ['a prefix of a configuration', { stdin: conf().slice(0, 40) }, { code: 6, msg: /stdin is not JSON/ }],
    ['null', { stdin: 'null' }, { code: 7, msg: /"name" is missing/ }],
    ['{}', { stdin: '{}' }, { code: 7, msg: /"name" is missing/ }],
    ['closed', { redirect: '<&-' }, { code: 5, msg: /stdin is closed/ }],
    ['a directory', { redirect: '</tmp' }, { code: 5, msg: /stdin cannot be read.*EISDIR/ }],
    ['/dev/null', { redirect: '</dev/null' }, { code: 6, msg: /stdin is empty/ }],
    ['10 MiB', { stdin: conf({ pad: 'x'.repeat(10 * 1024 * 1024) }) }, { code: 6, msg: /the limit is/ }],
    ['deep nesting, cut', { stdin: nested }, { code: 6, msg: /stdin/ }],
    ['empty name', { stdin: conf({ name: '' }) }, { code: 7, msg: /"name"/ }],
    ...['a/b', '.a', '-a', 'a\0', 'a b'].map((name): [string, Given, Expected] => [
      `name ${JSON.stringify(name)}`,
      { stdin: conf({ name }) },
      { code: 7, msg: /"name"/ },
    ]),
    ['name in invalid UTF-8', { stdin: Buffer.from(conf({ name: 'x\xffx' }), 'latin1') }, { code: 7, msg: /"name"/ }],
    ['name a number', { stdin: conf({ name: 5 }) }, { code: 6, msg: /"name" is not a string/ }],
    [
      'keys in upper case are other keys',
      { stdin: '{"NAME":"a","cniVersion":"1.0.0"}' },
      { code: 7, msg: /"name" is missing/ },
    ],
    ['version a number', { stdin: conf({ cniVersion: 1 }) }, { code: 6, msg: /"cniVersion"/ }],
    ...['9.9.9', '1.1', '1.1.0.0', 'abc', '1.2.0'].map((cniVersion): [string, Given, Expected] => [
      `ADD at ${cniVersion}`,
      { stdin: conf({ cniVersion }) },
      { code: 1, msg: new RegExp(`"${cniVersion}".*"1.0.0"`) },
    ]),
    ['no version means 0.1.0', { stdin: conf({ cniVersion: '' }) }, { code: 1, msg: /"0\.1\.0"/ }],
    ['CHECK at abc', { env: env('CHECK'), stdin: conf({ cniVersion: 'abc' }) }, { code: 6, msg: /abc/ }],
    ['CHECK at 9.9.9', { env: env('CHECK'), stdin: conf({ cniVersion: '9.9.9' }) }, { code: 1, msg: /9\.9\.9/ }],
    [
      'CHECK at 0.3.1',
      { env: env('CHECK'), stdin: conf({ cniVersion: '0.3.1' }) },
      { code: 1, msg: /CHECK needs.*0\.4\.0/ },
    ],
    ['GC at 1.0.0', { env: env('GC'), stdin: conf() }, { code: 1, msg: /GC needs.*1\.1\.0/ }],
    ['STATUS at 1.0.0', { env: env('STATUS'), stdin: conf() }, { code: 1, msg: /STATUS needs.*1\.1\.0/ }],
    [
      'GC at 1.1.0 without a list',
      { env: env('GC'), stdin: conf({ cniVersion: '1.1.0' }) },
      { code: 7, msg: /valid-attachments" is missing/ },
    ],
    ['mtu', { stdin: conf({ mtu: 'big' }) }, { code: 7, msg: /"mtu"/ }],
    ['runtimeConfig', { stdin: conf({ runtimeConfig: [] }) }, { code: 7, msg: /"runtimeConfig"/ }],
    [
      'a rate',
      { stdin: conf({ runtimeConfig: { bandwidth: { ingressRate: '1M' } } }) },
      { code: 7, msg: /"runtimeConfig\.bandwidth\.ingressRate" is not a whole number of bits per second/ },
    ],
    ['debug', { stdin: conf({ debug: 'yes' }) }, { code: 7, msg: /"debug"/ }],
    ['daemonSocket', { stdin: conf({ daemonSocket: 7 }) }, { code: 7, msg: /"daemonSocket"/ }],
    ['CHECK without prevResult', { env: env('CHECK'), stdin: conf() }, { code: 7, msg: /"prevResult" is missing/ }],
    [
      'CHECK with a prevResult that is none',
      { env: env('CHECK'), stdin: conf({ prevResult: 7 }) },
      { code: 6, msg: /"prevResult"/ },
    ],
  ];
  for (const [name, given, { code, msg }] of cases) {
    const ran = await startPlugin(host, { env: env('ADD'), stdin: '', ...given });
    t.ok(isOneError(ran), name);
    t.match(ran.json(), { code, msg }, name);
  }
  t.strictSame(daemon.calls, [], 'the daemon was never asked');
});

test('plugin input: keys we do not know are ignored, of two equal keys the last counts [9, 10]', {
  skip,
}, async (t) => {
  const { host, conf, env } = await withBench(t);
  const more = { runtimeConfig: { portMappings: [] }, args: { cni: {} }, 'cni.dev/x': 1, veth_prefix: 'x', mtu: 0 };
  const stdin = conf(more).replace('"name":"podnet"', '"name":"/","name":"podnet"');
  const ran = await startPlugin(host, { env: env('ADD'), stdin });
  t.equal(ran.exitCode, 0, ran.stdout);
});

test('plugin input: VERSION echoes, needs nothing else, and reads no sense into nonsense', { skip }, async (t) => {
  const supportedVersions = ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'];
  const cases: [Given, string][] = [
    [{ stdin: '{"cniVersion":"0.4.0"}' }, '0.4.0'],
    [{ stdin: '' }, '1.1.0'],
    [{ stdin: '{' }, '1.1.0'],
    [{ redirect: '<&-' }, '1.1.0'],
  ];
  for (const [given, cniVersion] of cases) {
    const ran = await startPlugin(null, { env: { CNI_COMMAND: 'VERSION' }, ...given });
    t.equal(ran.exitCode, 0);
    t.strictSame(ran.json(), { cniVersion, supportedVersions });
  }
});

test('plugin input: its own namespace is refused before anything is done; DEL gives back all the same [14]', {
  skip,
}, async (t) => {
  const { host, conf, env, daemon } = await withBench(t);
  const CNI_NETNS = host.path; // the namespace the plugin itself runs in
  for (const command of ['ADD', 'CHECK']) {
    const ran = await startPlugin(host, { env: env(command, { CNI_NETNS }), stdin: conf() });
    t.ok(isOneError(ran));
    t.match(ran.json(), { code: 8, msg: /own network namespace/ });
  }
  t.strictSame(daemon.calls, []);
  daemon.leases.set('s1/eth0', 44);
  const ran = await startPlugin(host, { env: env('DEL', { CNI_NETNS }), stdin: conf() });
  t.match(ran.json(), { code: 8 });
  t.equal(daemon.leases.size, 0, 'released');
  const meant = { CNI_NETNS, CNI_NETNS_OVERRIDE: '1', CNI_IFNAME: 'eth7' };
  t.equal((await startPlugin(host, { env: env('ADD', meant), stdin: conf() })).exitCode, 0, 'unless it is meant');
  t.equal((await startPlugin(host, { env: env('DEL', meant), stdin: conf() })).exitCode, 0);
});

test('plugin input: a namespace that cannot be used costs no address [15]', { skip }, async (t) => {
  const { host, conf, env, daemon, directory } = await withBench(t);
  for (const CNI_NETNS of [`${directory}/absent`, '/etc/hostname', '/proc/self/ns/mnt', directory]) {
    const ran = await startPlugin(host, { env: env('ADD', { CNI_NETNS }), stdin: conf() });
    t.ok(isOneError(ran), CNI_NETNS);
    t.match(ran.json(), { code: 8, msg: /CNI_NETNS/ }, CNI_NETNS);
    const deleted = await startPlugin(host, { env: env('DEL', { CNI_NETNS }), stdin: conf() });
    t.strictSame([deleted.exitCode, deleted.stdout], [0, ''], `DEL ${CNI_NETNS} [31]`);
  }
  t.notOk(daemon.methods().includes('AllocIP'));
  t.notOk(existsSync(`${directory}/pending-deletes`));
});
