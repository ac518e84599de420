/** What a plugin takes and refuses (points 1 to 15), and how it answers (16 to 21). Source: CNI SPEC 1.1; facts/peers 3.7. */
import assert from 'node:assert/strict';
import { assertCode, failureOf, type Ground, NotApplicable } from './ground.ts';
import type { Point } from './point.ts';

const REQUIRED = ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME', 'CNI_PATH'];

async function versionsOf(ground: Ground): Promise<readonly string[]> {
  const ran = await ground.call('VERSION');
  return (ran.json().supportedVersions ?? []) as string[];
}

/** A call that must be refused; the network is the same afterwards. */
async function refused(
  ground: Ground,
  what: string,
  codes: number | readonly number[],
  options: Parameters<Ground['call']>[1],
  about?: RegExp,
): Promise<void> {
  const pod = ground.pod();
  const ran = await ground.call('ADD', { netns: pod.path, ...options });
  try {
    assertCode(ran, codes, about);
  } catch (error) {
    if (error instanceof Error) error.message = `${what}: ${error.message}`;
    throw error;
  }
}

export const inputPoints: readonly Point[] = [
  {
    number: 1,
    words: 'without CNI_COMMAND it says on stderr what it is',
    async holds(ground) {
      const ran = await ground.call('', { without: ['CNI_COMMAND'] });
      assert.deepEqual([ran.exitCode, ran.stdout], [0, '']);
      assert.notEqual(ran.stderr.trim(), '');
    },
  },
  {
    number: 2,
    words: 'an unknown CNI_COMMAND is code 4 and named',
    holds: async (ground) => assertCode(await ground.call('FOO'), 4, /CNI_COMMAND/),
  },
  {
    number: 3,
    words: 'variables that are missing are code 4, all of them named at once',
    async holds(ground) {
      for (const name of REQUIRED) await refused(ground, name, 4, { without: [name] }, new RegExp(name));
      const ran = await ground.call('ADD', { without: REQUIRED });
      for (const name of REQUIRED) assertCode(ran, 4, new RegExp(name));
    },
  },
  {
    number: 4,
    words: 'a malformed CNI_CONTAINERID is code 4 and named; one of 1 KiB is taken',
    async holds(ground) {
      for (const id of ['-abc', 'a/b', 'a b', '']) await refused(ground, `"${id}"`, 4, { id }, /CNI_CONTAINERID/);
      const id = 'a'.repeat(1024);
      const pod = ground.pod();
      await ground.leavingNothing(async () => {
        await ground.add({ id, netns: pod.path });
        await ground.del({ id, netns: pod.path });
      });
    },
  },
  {
    number: 5,
    words: 'a malformed CNI_IFNAME is code 4',
    async holds(ground) {
      for (const ifname of ['0123456789abcdef', '.', '..', 'a/b', 'a:b', 'a\tb'])
        await refused(ground, JSON.stringify(ifname), 4, { ifname });
    },
  },
  {
    number: 6,
    words: 'stdin that is no JSON object is code 6, one that says nothing 7, one that cannot be read 5',
    async holds(ground) {
      for (const stdin of ['', '{', '[]', '"x"', '42', '{} {}', '{} x', '\ufeff{}'])
        await refused(ground, JSON.stringify(stdin), 6, { stdin });
      for (const stdin of ['null', '{}']) await refused(ground, stdin, 7, { stdin });
      await refused(ground, 'closed', 5, { redirect: '<&-' });
    },
  },
  {
    number: 7,
    words: 'bytes that are no text, deep nesting and megabytes of padding are a typed error or taken, and no crash',
    async holds(ground) {
      const conf = JSON.stringify(ground.subject.conf);
      const typed: [string, Buffer | string][] = [
        ['invalid UTF-8', Buffer.concat([Buffer.from('{"name":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])],
        ['NUL bytes', Buffer.alloc(64)],
        ['deep nesting', `${'['.repeat(10_000)}${']'.repeat(10_000)}`],
      ];
      for (const [what, stdin] of typed) await refused(ground, what, [4, 5, 6, 7], { stdin });
      const pod = ground.pod();
      const padded = await ground.call('ADD', { netns: pod.path, stdin: `${conf}${' '.repeat(10 * 1024 * 1024)}` });
      if (padded.exitCode === 0) await ground.del({ netns: pod.path });
      else failureOf(padded);
    },
  },
  {
    number: 8,
    words: 'a name that is missing or malformed is code 7, a number for one 6',
    async holds(ground) {
      for (const name of ['', 'a/b', 'a\u0000b', '.a', '-a'])
        await refused(ground, JSON.stringify(name), 7, { conf: { name } });
      await refused(ground, 'absent', 7, { conf: { name: undefined } });
      await refused(ground, 'a number', 6, { conf: { name: 7 } });
    },
  },
  {
    number: 9,
    words: 'keys that it does not know are ignored',
    async holds(ground) {
      const pod = ground.pod();
      const conf = { runtimeConfig: { portMappings: [] }, args: { cni: {} }, 'cni.dev/x': 1, unheard_of: [] };
      await ground.leavingNothing(async () => {
        await ground.add({ netns: pod.path, conf });
        await ground.del({ netns: pod.path, conf });
      });
    },
  },
  {
    number: 10,
    words: 'of a key that comes twice it takes the same one each time',
    async holds(ground) {
      const stdin = '{"cniVersion":"0.4.0","name":"x","cniVersion":"0.3.1"}';
      const echoes = new Set<unknown>();
      for (let times = 0; times < 3; times += 1)
        echoes.add((await ground.call('VERSION', { stdin })).json().cniVersion);
      assert.equal(echoes.size, 1);
    },
  },
  {
    number: 11,
    words:
      'a version that is not supported is code 1 with those that are; absent means 0.1.0; nonsense for later verbs is refused',
    async holds(ground) {
      const [newest = ''] = (await versionsOf(ground)).slice(-1);
      const said = new RegExp(newest.replaceAll('.', '\\.'));
      for (const cniVersion of ['9.9.9', '1.1', '1.1.0.0', 'abc']) {
        await refused(ground, cniVersion, 1, { conf: { cniVersion } }, said);
        assertCode(await ground.call('DEL', { conf: { cniVersion } }), 1, said);
      }
      const old = await versionsOf(ground);
      for (const cniVersion of ['', undefined]) {
        const pod = ground.pod();
        const ran = await ground.call('ADD', { netns: pod.path, conf: { cniVersion } });
        if (!old.includes('0.1.0')) assertCode(ran, 1, /0\.1\.0/);
        else await ground.del({ netns: pod.path, conf: { cniVersion } });
      }
      for (const verb of ['CHECK', 'GC', 'STATUS'])
        assertCode(await ground.call(verb, { netns: ground.pod().path, conf: { cniVersion: 'abc' } }), [1, 4, 6]);
    },
  },
  {
    number: 12,
    words: 'a version that is no text is code 6',
    holds: (ground) => refused(ground, 'a number', 6, { conf: { cniVersion: 1 } }),
  },
  {
    number: 13,
    words: 'malformed CNI_ARGS are code 4; a key that it does not know is refused unless IgnoreUnknown says otherwise',
    async holds(ground) {
      const pair = 'K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-0';
      for (const CNI_ARGS of ['A', 'A=B=C', ';;'])
        await refused(ground, CNI_ARGS, [4, 7, 100, 999], { env: { CNI_ARGS } });
      await refused(ground, 'unknown', [4, 7, 100, 999], { env: { CNI_ARGS: `${pair};NOBODY_KNOWS=1` } });
      for (const ignore of ['1', 'true']) {
        const pod = ground.pod();
        const env = { CNI_ARGS: `IgnoreUnknown=${ignore};${pair};NOBODY_KNOWS=1` };
        await ground.add({ netns: pod.path, env });
        await ground.del({ netns: pod.path, env });
      }
    },
  },
  {
    number: 14,
    words: 'ADD with its own namespace is code 8 before anything is done; a DEL with it gives the address back',
    async holds(ground) {
      await ground.leavingNothing(async () => {
        assertCode(await ground.call('ADD', { netns: ground.host.path }), 8);
      });
      const pod = ground.pod();
      await ground.leavingNothing(async () => {
        await ground.add({ netns: pod.path });
        await ground.call('DEL', { netns: ground.host.path });
        await ground.call('DEL', { netns: pod.path });
      });
    },
  },
  {
    number: 15,
    words: 'ADD with a namespace that is not there fails and keeps no address',
    async holds(ground) {
      await ground.leavingNothing(async () => {
        failureOf(await ground.call('ADD', { netns: '/run/netns/enactor-nobody' }));
      });
    },
  },
  {
    number: 16,
    words: 'success is exit code 0 and exactly one JSON document on stdout',
    async holds(ground) {
      const pod = ground.pod();
      const ran = await ground.call('ADD', { netns: pod.path });
      assert.equal(ran.exitCode, 0, ran.stdout);
      ran.json();
      await ground.del({ netns: pod.path });
    },
  },
  {
    number: 17,
    words: 'failure is another exit code and exactly one error object with a number and a version',
    async holds(ground) {
      const ran = await ground.call('ADD', { netns: '/proc/version' });
      failureOf(ran);
      assert.equal(typeof ran.json().cniVersion, 'string', `no cniVersion in ${ran.stdout}`);
    },
  },
  {
    number: 18,
    words: 'the result has the version that was asked for; 0.1.0 and 0.2.0 may be refused by their code',
    async holds(ground) {
      const supported = await versionsOf(ground);
      for (const cniVersion of ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0']) {
        const pod = ground.pod();
        const conf = { cniVersion };
        const ran = await ground.call('ADD', { netns: pod.path, conf });
        if (!supported.includes(cniVersion)) assertCode(ran, 1);
        else {
          assert.equal(ran.exitCode, 0, `${cniVersion}: ${ran.stdout}`);
          assert.equal(ran.json().cniVersion, cniVersion);
          await ground.del({ netns: pod.path, conf });
        }
      }
    },
  },
  {
    number: 19,
    words: '`ips` have a version in 0.3.x and 0.4.0 and none in 1.x',
    async holds(ground) {
      const supported = await versionsOf(ground);
      for (const cniVersion of supported.filter((version) => !/^0\.[12]\./.test(version))) {
        const pod = ground.pod();
        const { ips = [] } = await ground.add({ netns: pod.path, conf: { cniVersion } });
        for (const ip of ips) assert.equal('version' in ip, cniVersion.startsWith('0.'), cniVersion);
        await ground.del({ netns: pod.path, conf: { cniVersion } });
      }
    },
  },
  {
    number: 20,
    words: 'mtu is told in 1.1.0 alone, an address’ interface is in the list, the pod’s end names CNI_NETNS',
    async holds(ground) {
      const supported = await versionsOf(ground);
      for (const cniVersion of ['1.0.0', '1.1.0'].filter((version) => supported.includes(version))) {
        const pod = ground.pod();
        const { interfaces = [], ips = [] } = await ground.add({ netns: pod.path, conf: { cniVersion } });
        for (const one of interfaces) if (cniVersion !== '1.1.0') assert.ok(!('mtu' in one), `mtu in ${cniVersion}`);
        for (const ip of ips) {
          const end = interfaces[ip.interface ?? -1];
          assert.ok(end !== undefined, `${ip.address} is on interface ${ip.interface} of ${interfaces.length}`);
          assert.equal(end.sandbox, pod.path);
        }
        assert.equal(interfaces.find(({ sandbox }) => sandbox === pod.path)?.name, 'eth0');
        await ground.del({ netns: pod.path, conf: { cniVersion } });
      }
    },
  },
  {
    number: 21,
    words: 'a pod of both families has two `ips`',
    async holds(ground) {
      const { hands } = ground.subject;
      if (hands === null) throw new NotApplicable('nobody can say that pods should have both families');
      const pod = ground.pod();
      hands.dual(true);
      try {
        const { ips = [] } = await ground.add({ netns: pod.path });
        assert.deepEqual(
          ips.map(({ address }) => address.includes(':')),
          [false, true],
        );
        await ground.del({ netns: pod.path });
      } finally {
        hands.dual(false);
      }
    },
  },
];
