/** The table of paths where pods have addresses of the node's prefix, or an ENI each (F1): each arrives with the source that it should; and checks/paths.md tells the same. */
import '../in-box.ts';

import { readFileSync } from 'node:fs';
import t from 'tap';
import { modesTable } from '../../../src/lab/checks/modes-table.ts';
import { tableIn } from '../../../src/lab/checks/path-table.ts';
import type { PodMode } from '../../../src/lab/checks/pod-modes.ts';
import { startScene } from '../../../src/lab/checks/service-scene.ts';
import { type PathVerdict, rightCidr, tryForm, withProxies } from '../../../src/lab/checks/try-service-paths.ts';
import { PROXY_FORMS } from '../../../src/lab/services/kube-proxy.ts';
import { missingForServices } from '../../../src/lab/services/needs.ts';

t.setTimeout(200_000);
const MODES: readonly PodMode[] = ['VPCIP', 'VPCENI'];
const missing = missingForServices();
const skip = missing !== null && `NOT RUN: ${missing}`;

t.test('paths: of pods with addresses of the node’s prefix, and of pods with an ENI each', { skip }, async (t) => {
  const byMode = new Map<PodMode, readonly PathVerdict[]>();
  for (const mode of MODES) {
    const scene = await startScene({}, mode);
    const verdicts: PathVerdict[] = [];
    try {
      for (const form of PROXY_FORMS) {
        const tried = await withProxies(scene, form, rightCidr(mode), () => tryForm(scene, form));
        verdicts.push(...tried.verdicts);
        for (const { path, family, ok, why } of tried.verdicts)
          t.ok(ok, `${mode}, ${form}, IPv${family}: ${path.words} ${why}`);
        t.equal(tried.refused.routingFault, 0, `${mode}, ${form}: no packet left by a wrong ENI`);
        t.equal(tried.refused.unknownSource, 0, `${mode}, ${form}: no packet had a source that nobody has`);
      }
    } finally {
      t.strictSame(await scene.lab.stop(), [], 'nothing is left behind');
    }
    byMode.set(mode, verdicts);
  }
  const told = tableIn(readFileSync('src/lab/checks/paths.md', 'utf8'), 'modes');
  t.equal(modesTable(byMode, MODES), told, 'paths.md has this table: npm run paths -- --into src/lab/checks/paths.md');
});
