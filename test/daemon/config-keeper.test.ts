import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { Config } from '../../src/core/config.ts';
import { EnactorError } from '../../src/core/errors.ts';
import { ConfigKeeper, type ConfigNews } from '../../src/daemon/config-keeper.ts';
import { rememberedOverlay, rememberOverlay } from '../../src/daemon/overlay-memory.ts';
import { type Overlay, watchOverlay } from '../../src/daemon/overlay-watch.ts';
import { FakeKubernetes } from '../../src/simulation/fake-kubernetes.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const pair = { access_key: 'id', access_secret: 's' };
const text = (keys: object): string => JSON.stringify({ ...pair, ...keys });
const overlay = (configMap: string, keys: object): Overlay => ({ configMap, text: JSON.stringify(keys) });

function rig(t: Test, keys: object, remembered: Overlay | null = null) {
  const config = join(t.testdir(), 'eni_conf');
  writeFileSync(config, text(keys));
  const kept: Overlay[] = [];
  const news: ConfigNews[] = [];
  const taken: Config[] = [];
  const failing: Error[] = [];
  const end = new AbortController();
  const flags = { config, nodeName: 'n', logLevel: null, readOnly: false, namespace: 'kube-system', told: [] };
  const parts = {
    flags,
    clock: { nowMs: () => 7 },
    log: silent,
    remembered,
    remember: (one: Overlay) => void kept.push(one),
  };
  const keeper = new ConfigKeeper(parts);
  const follow = (): void => {
    const take = async (next: Config): Promise<void> => {
      const failure = failing.shift();
      if (failure !== undefined) throw failure;
      taken.push(next);
    };
    const following = keeper.follow(take, (one) => void news.push(one), end.signal);
    t.teardown(async () => {
      end.abort();
      await following;
    });
  };
  return { keeper, kept, news, taken, failing, follow };
}

const soon = async (met: () => boolean): Promise<void> => {
  const endMs = Date.now() + 20_000;
  while (!met()) {
    if (Date.now() > endMs) throw new Error('it never came to that');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};
const value = (keeper: ConfigKeeper, key: string) => keeper.report().values.find((one) => one.key === key);

t.test(
  'config keeper: what is right before the node runs simply holds; what is wrong is left out and told',
  async (t) => {
    const { keeper } = rig(t, { max_pool_size: 3 }, overlay('gpu', { max_pool_size: -1 }));
    t.match(value(keeper, 'max_pool_size'), { value: 3, source: 'file' });
    t.match(keeper.report().overlay, { configMap: 'kube-system/gpu', state: 'refused' });
    t.match(keeper.report().refusals, [{ source: 'overlay gpu', key: 'max_pool_size', sinceMs: 7 }]);
    keeper.overlaySaid(overlay('gpu', { max_pool_size: 6, mtu: 1400 }));
    t.match(value(keeper, 'mtu'), { value: 1400, source: 'overlay gpu', pending: null });
    t.strictSame(keeper.report().refusals, []);
  },
);

t.test(
  'config keeper: a node that cannot take a change yet is asked again; one that does not fit is refused',
  async (t) => {
    const { keeper, news, taken, failing, follow } = rig(t, { max_pool_size: 3 });
    follow();
    failing.push(new EnactorError('notReady', 'the node does not serve'));
    keeper.fileSaid({ text: text({ max_pool_size: 5 }) });
    await soon(() => taken.length === 1);
    t.equal(taken[0]?.settings.maxIdle, 5);
    t.match(news, [{ reason: 'ConfigChanged', message: /max_pool_size$/ }]);

    failing.push(new EnactorError('invalidArgument', 'none of the vSwitches is here'));
    keeper.fileSaid({ text: text({ max_pool_size: 9, vswitches: { z: ['vsw-1'] } }) });
    await soon(() => keeper.report().refusals.length === 1);
    t.match(value(keeper, 'max_pool_size'), { value: 5, pending: null }, 'all of it stays as it was');
    t.match(news.at(-1), { type: 'Warning', reason: 'ConfigError', message: /none of the vSwitches is here/ });

    keeper.fileSaid({ why: 'cannot be read: ENOENT' });
    t.match(keeper.report().refusals, [{ source: 'file', why: 'cannot be read: ENOENT' }]);
    keeper.fileSaid({ text: text({ max_pool_size: 5 }) });
    t.strictSame(keeper.report().refusals, []);
    t.equal(taken.length, 1, 'that is what holds');
  },
);

t.test('config keeper: an overlay is remembered once it holds, and not while it is refused', async (t) => {
  const { keeper, kept, follow } = rig(t, { max_pool_size: 3 });
  t.notOk(keeper.knowsOverlay);
  follow();
  keeper.overlaySaid(overlay('gpu', { max_pool_size: 4, mtu: 1400 }));
  await soon(() => kept.length > 0);
  t.match(kept.at(-1), { configMap: 'gpu' });
  const before = kept.length;
  keeper.overlaySaid(overlay('far', { min_pool_size: 'many' }));
  t.equal(keeper.report().overlay.state, 'refused');
  await new Promise((resolve) => setTimeout(resolve, 30));
  t.equal(kept.length, before);
  t.match(value(keeper, 'mtu'), { value: 1500, pending: { value: 1400 } }, 'what waited waits');
});

t.test('overlay memory: for its owner alone; what nobody can read is nothing', async (t) => {
  const dir = t.testdir();
  t.equal(rememberedOverlay(dir), null);
  rememberOverlay(dir, overlay('gpu', { access_secret: 's' }));
  t.equal(statSync(join(dir, 'overlay.json')).mode & 0o777, 0o600);
  t.strictSame(rememberedOverlay(dir), overlay('gpu', { access_secret: 's' }));
  for (const broken of ['', '[]', '{"configMap":1,"text":null}', '{"configMap":']) {
    writeFileSync(join(dir, 'overlay.json'), broken);
    t.equal(rememberedOverlay(dir), null);
  }
});

t.test('overlay watch: a node without object or label has none; another label, another ConfigMap', async (t) => {
  const kubernetes = new FakeKubernetes();
  const heard: (string | null)[] = [];
  const end = new AbortController();
  const onOverlay = ({ configMap, text: said }: Overlay): void => void heard.push(configMap && `${configMap} ${said}`);
  const parts = { kubernetes, nodeName: 'n', namespace: 'ns', log: silent, onOverlay, onNode: () => {} };
  const watching = watchOverlay(parts, end.signal);
  const bare = { name: 'n', uid: 'u', annotations: {}, podCidrs: [], internalIps: [], providerId: null };
  const node = { ...bare, unschedulable: false };
  const told = async (line: string | null): Promise<void> => {
    await soon(() => heard.at(-1) === line);
  };
  await told(null);
  kubernetes.putConfigMap('ns', 'a', { eni_conf: '{}' });
  kubernetes.putConfigMap('elsewhere', 'b', { eni_conf: 'not this one' });
  kubernetes.putNode({ ...node, labels: { 'terway-config': 'a' } });
  await told('a {}');
  kubernetes.putNode({ ...node, labels: { 'terway-config': 'b' } });
  await told('b null');
  kubernetes.putConfigMap('ns', 'a', { eni_conf: 'nobody listens' });
  kubernetes.putConfigMap('ns', 'b', { eni_conf: '{"mtu":1400}' });
  await told('b {"mtu":1400}');
  kubernetes.putNode({ ...node, labels: {} });
  await told(null);
  t.strictSame(heard, [null, 'a {}', 'b null', 'b {"mtu":1400}', null]);
  end.abort();
  await watching;
});
