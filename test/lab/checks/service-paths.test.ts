/**
 * The table of paths through services (F3, P20 and the paths of cases/field): each one arrives with the source that it should, or is dropped
 * where it should be, in both families and under both forms of kube-proxy; and paths.md beside it tells the same.
 */
import '../in-box.ts';

import { readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { pathTable, tableIn } from '../../../src/lab/checks/path-table.ts';
import { type Scene, startScene, WITHOUT } from '../../../src/lab/checks/service-scene.ts';
import { traceLines, tracePath } from '../../../src/lab/checks/trace-path.ts';
import {
  aimOf,
  type PathVerdict,
  RIGHT_CIDR,
  tryForm,
  withProxies,
} from '../../../src/lab/checks/try-service-paths.ts';
import { ask } from '../../../src/lab/probe/ask.ts';
import { PROXY_FORMS, type ProxyForm } from '../../../src/lab/services/kube-proxy.ts';
import { missingForServices } from '../../../src/lab/services/needs.ts';

t.setTimeout(200_000);
const missing = missingForServices();
const skip = missing !== null && `NOT RUN: ${missing}`;

t.test('paths: through services each arrives with the source it should, or is dropped', { skip }, async (t) => {
  const scene = await startScene();
  const verdicts: PathVerdict[] = [];
  try {
    for (const form of PROXY_FORMS) {
      const tried = await withProxies(scene, form, RIGHT_CIDR, async () => {
        await sticky(t, scene, form);
        if (form === 'nft') await traced(t, scene);
        return tryForm(scene, form);
      });
      verdicts.push(...tried.verdicts);
      for (const { path, family, ok, why } of tried.verdicts) {
        t.ok(ok, `${form}, IPv${family}: ${path.words} ${why}`);
      }
      t.equal(tried.refused.routingFault, 0, `${form}: no packet left by a wrong ENI`);
      t.equal(tried.refused.unknownSource, 0, `${form}: no packet had a source that nobody has`);
    }
  } finally {
    t.strictSame(await scene.lab.stop(), [], 'nothing is left behind');
  }
  t.equal(
    pathTable(verdicts),
    tableIn(readFileSync('src/lab/checks/paths.md', 'utf8')),
    'paths.md has this table: npm run paths -- --into src/lab/checks/paths.md',
  );
  const local = verdicts.filter(({ path }) => path.expected[4] === 'dropped');
  t.equal(local.length, 8, 'policy Local through a node without a backend was tried in each form and family');
});

/** What `enactor lab path` tells: the devices of a way that works, and how far one came that does not. */
async function traced(t: Test, scene: Scene): Promise<void> {
  const { lab, places } = scene;
  const pod = places.get('pod') ?? '';
  // The service of this name: it is looked for before the pod.
  const works = await tracePath(lab, { from: pod, to: 'far' });
  const text = traceLines(works).join('\n');
  t.comment(text);
  const there = works.hops.filter(({ answer }) => !answer);
  t.strictSame(
    there.map(({ place, direction }) => `${place} ${direction}`),
    [`${pod} out`, 'node-1 in', 'node-1 out', 'router in', 'router out', 'node-2 in', 'node-2 out', 'far in'],
    'every device of the way there, in its order',
  );
  t.match(text, /node-1 +eth\d +out +\S+ → \S+:7 +destination rewritten/, 'where the address was translated');
  t.match(text, /router +eni\d+ \(eni-\S+\) +in/, 'the router’s devices tell of which ENI they are');
  t.match(text, new RegExp(`reached far, who saw ${lab.place(pod).ips[0]}`));
  const aim = aimOf(scene, { to: 'nodePort', service: 'local', node: WITHOUT }, 4);
  const lost = await tracePath(lab, { from: 'outside', to: `${aim?.address}:${aim?.port}`, timeoutMs: 300 });
  t.match(traceLines(lost).at(-1), /not reached: the packet was last seen at node-2, eth0 in/, 'how far it came');
  await t.rejects(tracePath(lab, { from: 'outside', to: 'nobody' }), /nothing is called nobody/);
}

/** sessionAffinity ClientIP: a service of all pods, and always the same one for a client. */
async function sticky(t: Test, scene: Scene, form: ProxyForm): Promise<void> {
  const netns = scene.lab.netnsOf(scene.places.get('pod') ?? '');
  for (const family of [4, 6] as const) {
    const aim = aimOf(scene, { to: 'clusterIp', service: 'sticky' }, family);
    if (netns === null || aim === null) throw new Error('the service has no address');
    const answered = new Set<string>();
    for (let time = 0; time < 8; time += 1) {
      const result = await ask(netns, { ...aim, timeoutMs: 4_000 });
      answered.add(result.reached ? (result.place ?? '') : result.why);
    }
    t.equal(
      answered.size,
      1,
      `${form} IPv${family}: one client, one backend of ${scene.lab.pods.size}: ${[...answered]}`,
    );
    t.ok(scene.lab.pods.has([...answered][0] ?? ''), 'which is a pod');
  }
}
