/**
 * The table of paths through services (F3, P20 and the paths of cases/field): each one arrives with the source that it should, or is dropped
 * where it should be, in both families and under both forms of kube-proxy; and the README tells the same.
 */
import '../in-box.ts';

import { readFileSync } from 'node:fs';
import t from 'tap';
import { pathTable, tableIn } from '../../../src/lab/checks/path-table.ts';
import { startScene } from '../../../src/lab/checks/service-scene.ts';
import { type PathVerdict, tryForm } from '../../../src/lab/checks/try-service-paths.ts';
import { PROXY_FORMS } from '../../../src/lab/services/kube-proxy.ts';
import { missingForServices } from '../../../src/lab/services/needs.ts';

t.setTimeout(200_000);
const missing = missingForServices();
const skip = missing !== null && `NOT RUN: ${missing}`;

/** F3: answers of a pod on a secondary ENI to what came in by the primary one, and what is masqueraded on its way out, leave by a wrong ENI. */
const NOT_YET: readonly string[] = [
  'pod to external IP, Cluster, from a node without a backend',
  'outside to external IP, Cluster, through a node with a backend',
  'outside to external IP, Local, through a node with a backend',
  'outside to NodePort, Cluster, on a node with a backend',
  'outside to NodePort, Local, on a node with a backend',
  'pod to NodePort, Cluster, of another node',
  'node to NodePort, Cluster, of another node',
  'outside to hostPort',
  'pod of another node to hostPort',
];

t.test('paths: through services each arrives with the source it should, or is dropped', { skip }, async (t) => {
  const scene = await startScene();
  const verdicts: PathVerdict[] = [];
  try {
    for (const form of PROXY_FORMS) {
      const tried = await tryForm(scene, form);
      verdicts.push(...tried.verdicts);
      for (const { path, family, ok, why } of tried.verdicts) {
        if (!NOT_YET.includes(path.words)) t.ok(ok, `${form}, IPv${family}: ${path.words} ${why}`);
      }
      if (NOT_YET.length === 0) t.equal(tried.refused.routingFault, 0, `${form}: no packet left by a wrong ENI`);
      t.equal(tried.refused.unknownSource, 0, `${form}: no packet had a source that nobody has`);
    }
  } finally {
    t.strictSame(await scene.lab.stop(), [], 'nothing is left behind');
  }
  t.equal(
    pathTable(verdicts),
    tableIn(readFileSync('README.md', 'utf8')),
    'the README has this table: npm run paths -- --into README.md',
  );
  const local = verdicts.filter(({ path }) => path.expected[4] === 'dropped');
  t.equal(local.length, 8, 'policy Local through a node without a backend was tried in each form and family');
});
