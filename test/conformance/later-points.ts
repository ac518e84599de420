/** GC, STATUS and VERSION (points 39 to 46). Source: CNI SPEC 1.1; facts/peers 3.7. */
import assert from 'node:assert/strict';
import { assertCode, failureOf, type Ground, NotApplicable } from './ground.ts';
import type { Point } from './point.ts';

const CNI_1_1 = '1.1.0';
const STATUS_MS = 5_000; // a second on a machine that does nothing else

async function needs11(ground: Ground): Promise<void> {
  const { supportedVersions = [] } = (await ground.call('VERSION')).json() as { supportedVersions?: string[] };
  if (!supportedVersions.includes(CNI_1_1)) throw new NotApplicable(`it does not speak ${CNI_1_1}`);
}

type Attachment = { readonly containerID: string; readonly ifname: string };
const attachmentOf = (id: string, ifname = 'eth0'): Attachment => ({ containerID: id, ifname });

function gc(ground: Ground, list: unknown, more: object = {}) {
  const valid = list === undefined ? {} : { 'cni.dev/valid-attachments': list };
  return ground.call('GC', { conf: { cniVersion: CNI_1_1, ...valid, ...more } });
}

/** Two pods on the ground, taken off again at the end. */
async function withTwo(ground: Ground, work: (paths: readonly string[]) => Promise<void>): Promise<void> {
  const pods = [ground.pod(), ground.pod()];
  const each = pods.map(({ path }, index) => ({
    netns: path,
    id: `g${index}`,
    pod: `web-${index}`,
    conf: { cniVersion: CNI_1_1 },
  }));
  for (const one of each) await ground.add(one);
  await work(pods.map(({ path }) => path));
  for (const one of each) await ground.del(one);
}

function leasesOf(ground: Ground): readonly string[] {
  if (ground.subject.hands === null) throw new NotApplicable('nothing is known of what is behind the plugin');
  return [...ground.subject.hands.leases()].sort();
}

export const laterPoints: readonly Point[] = [
  {
    number: 39,
    words: 'GC with no attachment valid gives all back, with all valid nothing; without the list it is an error',
    async holds(ground) {
      await needs11(ground);
      await withTwo(ground, async () => {
        const all = leasesOf(ground);
        failureOf(await gc(ground, undefined));
        assert.deepEqual(leasesOf(ground), all, 'a missing list was taken for an empty one');
        const ran = await gc(ground, [attachmentOf('g0'), attachmentOf('g1')]);
        assert.equal(ran.exitCode, 0, ran.stdout);
        assert.deepEqual(leasesOf(ground), all);
        assert.equal((await gc(ground, [])).exitCode, 0);
        assert.deepEqual(leasesOf(ground), []);
      });
    },
  },
  {
    number: 40,
    words:
      'GC with a malformed entry is code 6 or 7 and gives nothing back; of two attachments of one container the other goes',
    async holds(ground) {
      await needs11(ground);
      await withTwo(ground, async (paths) => {
        const all = leasesOf(ground);
        for (const list of [{}, [{ containerID: 'g0' }], [7], [{ containerID: 1, ifname: 'eth0' }]])
          assertCode(await gc(ground, list), [6, 7]);
        assert.deepEqual(leasesOf(ground), all);
        const second = { netns: paths[0] ?? '', id: 'g0', ifname: 'net1', conf: { cniVersion: CNI_1_1 } };
        await ground.add(second);
        assert.equal((await gc(ground, [attachmentOf('g0', 'net1'), attachmentOf('g1')])).exitCode, 0);
        assert.deepEqual(leasesOf(ground), ['g0/net1', 'g1/eth0']);
        await ground.del(second);
      });
    },
  },
  {
    number: 41,
    words: 'a second GC finds nothing to do; in 1.0.0 it is code 1',
    async holds(ground) {
      await needs11(ground);
      await withTwo(ground, async () => {
        for (let times = 0; times < 2; times += 1) {
          const ran = await gc(ground, [attachmentOf('g0')]);
          assert.equal(ran.exitCode, 0, ran.stdout);
          assert.deepEqual(leasesOf(ground), ['g0/eth0']);
        }
        assertCode(await gc(ground, [], { cniVersion: '1.0.0' }), 1);
      });
    },
  },
  {
    number: 42,
    words: 'GC leaves what is of another network',
    async holds(ground) {
      await needs11(ground);
      await withTwo(ground, async () => {
        const all = leasesOf(ground);
        assert.equal((await gc(ground, [], { name: 'another-network' })).exitCode, 0);
        assert.deepEqual(leasesOf(ground), all);
      });
    },
  },
  {
    number: 43,
    words: 'what GC has taken an ADD under way has not: a pod added beside it is whole',
    async holds(ground) {
      await needs11(ground);
      const pod = ground.pod();
      const conf = { cniVersion: CNI_1_1 };
      const [prevResult] = await Promise.all([
        ground.add({ netns: pod.path, id: 'late', conf }),
        gc(ground, [attachmentOf('late')]),
      ]);
      const ran = await ground.call('CHECK', { netns: pod.path, id: 'late', conf: { ...conf, prevResult } });
      assert.equal(ran.exitCode, 0, ran.stdout);
      await ground.del({ netns: pod.path, id: 'late', conf });
    },
  },
  {
    number: 44,
    words: 'STATUS is silent and 0 when ADD can work, 50 or 51 when nobody answers; before 1.1.0 it is code 1',
    async holds(ground) {
      await needs11(ground);
      const status = (cniVersion = CNI_1_1) => ground.call('STATUS', { conf: { cniVersion } });
      const ran = await status();
      assert.deepEqual([ran.exitCode, ran.stdout], [0, '']);
      assertCode(await status('1.0.0'), 1);
      const { hands } = ground.subject;
      if (hands === null) return;
      await hands.stop();
      try {
        assertCode(await status(), [50, 51]);
      } finally {
        await hands.start();
      }
    },
  },
  {
    number: 45,
    words: 'STATUS answers soon, and an ADD after one that failed is still tried',
    async holds(ground) {
      await needs11(ground);
      const startMs = performance.now();
      await ground.call('STATUS', { conf: { cniVersion: CNI_1_1 } });
      assert.ok(performance.now() - startMs < STATUS_MS);
      const { hands } = ground.subject;
      if (hands === null) return;
      await hands.stop();
      await ground.call('STATUS', { conf: { cniVersion: CNI_1_1 } });
      await hands.start();
      const pod = ground.pod();
      await ground.add({ netns: pod.path });
      await ground.del({ netns: pod.path });
    },
  },
  {
    number: 46,
    words: 'VERSION echoes the version, lists all, and needs neither variables nor stdin',
    async holds(ground) {
      const without = ['CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME', 'CNI_PATH', 'CNI_ARGS'];
      const ran = await ground.call('VERSION', { without, stdin: '{"cniVersion":"0.4.0"}' });
      assert.equal(ran.exitCode, 0);
      const { cniVersion, supportedVersions } = ran.json() as { cniVersion: string; supportedVersions: string[] };
      assert.equal(cniVersion, '0.4.0');
      assert.ok(supportedVersions.includes('0.4.0') && supportedVersions.includes('1.0.0'));
      const empty = await ground.call('VERSION', { without, stdin: '' });
      assert.deepEqual([empty.exitCode, empty.json().supportedVersions], [0, supportedVersions]);
    },
  },
];
