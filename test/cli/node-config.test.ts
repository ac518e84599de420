import t from 'tap';
import { configLines } from '../../src/cli/node-config.ts';
import type { ConfigReport } from '../../src/core/config-report.ts';
import { plain } from '../../src/lab/view/paint.ts';

const report: ConfigReport = {
  file: '/etc/eni/eni_conf',
  overlay: { configMap: 'kube-system/gpu', state: 'applied' },
  values: [
    {
      key: 'access_secret',
      value: '******',
      words: null,
      source: 'file',
      change: 'restart',
      note: null,
      pending: null,
    },
    {
      key: 'min_pool_size',
      value: 3,
      words: null,
      source: 'overlay gpu',
      change: 'live',
      note: 'lowered from 5 to max_pool_size, 3',
      pending: null,
    },
    {
      key: 'mtu',
      value: 1500,
      words: null,
      source: 'default',
      change: 'restart',
      note: null,
      pending: { value: 8500, words: null, source: 'file' },
    },
    {
      key: 'security_groups',
      value: null,
      words: 'those of the primary ENI',
      source: 'default',
      change: 'live',
      note: null,
      pending: null,
    },
  ],
  flags: [{ flag: '--node-name', value: 'n', source: 'environment' }],
  refusals: [{ source: 'file', key: 'cool_down', why: 'is not a duration', sinceMs: 0 }],
  notes: [{ key: 'version', why: 'has no effect here' }],
};

t.test('config: tells each value and who said it, what waits and what was refused', async (t) => {
  const text = configLines(report, 5_000, plain).join('\n');
  t.match(text, /^overlay {2}ConfigMap kube-system\/gpu, applied$/m);
  t.match(text, /^refused {2}cool_down of file: is not a duration \(5 s ago; what was before holds\)$/m);
  t.match(text, /^min_pool_size +3 +overlay gpu +lowered from 5 to max_pool_size, 3$/m);
  t.match(text, /^mtu +1500 +default +needs a restart: then 8500 \(file\)$/m);
  t.match(text, /^security_groups +\(those of the primary ENI\) +default$/m);
  t.match(text, /^--node-name +n +environment$/m);
  t.match(text, /^version: has no effect here$/m);
});
