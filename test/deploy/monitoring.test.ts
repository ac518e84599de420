/**
 * Alert rules and dashboard against a daemon that is asked as Prometheus asks it: each metric and label that they name is told, each value
 * that they look for is one that occurs, and each expression can be read. (promtool itself is not asked: Debian has it only with all of
 * Prometheus.)
 */
import '../lab/in-box.ts';

import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { load, loadAll } from 'js-yaml';
import t from 'tap';
import { errorTable } from '../../src/core/errors.ts';
import { call, machine } from '../daemon/machine.ts';
import { readPromQl, type Selector } from './promql.ts';

type Rule = {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};
type Groups = { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] };
type Panel = {
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
};

const plain = load(readFileSync('deploy/prometheus-rules.yaml', 'utf8')) as Groups;
const operator = loadAll(readFileSync('deploy/components/prometheus-operator/prometheus-operator.yaml', 'utf8')) as {
  kind: string;
  spec: unknown;
}[];
const dashboard = JSON.parse(readFileSync('deploy/grafana-dashboard.json', 'utf8')) as { panels: readonly Panel[] };
const rules = plain.groups.flatMap((group) => group.rules);
const panels = dashboard.panels.flatMap((panel) =>
  (panel.targets ?? []).map(({ expr, legendFormat }) => ({ ...panel, expr, legendFormat })),
);
const asked = [
  ...rules.map(({ alert, expr }) => ({ where: alert, expr })),
  ...panels.map(({ title, expr }) => ({ where: title, expr: expr.replaceAll('$__rate_interval', '5m') })),
].map((one) => ({ ...one, ...readPromQl(one.expr) }));

/** What Prometheus adds by itself. */
const ADDED = ['instance', 'job'];

t.test('monitoring: a daemon tells every metric, label and value that alerts and panels look for', async (t) => {
  const here = await machine(t, { min_pool_size: 0, max_pool_size: 0, cool_down: '1s' });
  const port = await freePort();
  const daemon = here.start({ more: ['--metrics-listen', `127.0.0.1:${port}`] });
  await daemon.serving();
  for (const pod of ['a', 'b', 'c']) here.addPod(pod);
  t.equal((await call(here.paths.jsonSocket, 'AllocIP', 'a')).status, 200);
  for (const api of ['CreateNetworkInterface', 'AssignPrivateIpAddresses'])
    await fetch(`${here.cloud.adminUrl}/faults`, {
      method: 'POST',
      body: JSON.stringify({ api, effect: 'fail', code: 'InvalidVSwitchId.IpNotEnough', times: 100 }),
    });
  const [b, c] = await Promise.all(['b', 'c'].map((pod) => call(here.paths.jsonSocket, 'AllocIP', pod)));
  t.not(b?.status, 200, 'the vSwitch is dry');
  t.not(c?.status, 200);
  const scrape = async () => await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  let text = '';
  await daemon.until(async () => {
    await sleep(100); // the loop is measured from one question to the next
    text = await scrape();
    return [/enactor_gc_last_pass\w+ \d/, /enactor_holds\{/, /enactor_loop_delay_seconds\{/].every((one) =>
      one.test(text),
    );
  });
  const told = samplesIn(text);
  const spelt = new Set([...told.keys(), 'up']);
  for (const { where, selectors, labels } of asked) {
    t.strictSame(
      selectors.map(({ name }) => name).filter((name) => !spelt.has(name)),
      [],
      `${where}: its metrics`,
    );
    const names = selectors.map(({ name }) => name);
    const known = (label: string) => ADDED.includes(label) || names.some((name) => told.get(name)?.has(label));
    t.strictSame(
      labels.filter((label) => !known(label)),
      [],
      `${where}: what it groups by`,
    );
    t.strictSame(
      selectors.flatMap((selector) => unknownIn(selector, told)),
      [],
      `${where}: what it looks for`,
    );
  }
  for (const { where, legendFormat } of panels.map((one) => ({ ...one, where: one.title }))) {
    const shown = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, label = '']) => label);
    const own = asked.filter((one) => one.where === where);
    const groups = own.flatMap((one) => one.labels);
    t.strictSame(
      shown.filter((label) => !groups.includes(label) && !ADDED.includes(label)),
      [],
      `${where}: its legend`,
    );
  }

  t.test('over TCP there are the metrics and nothing else', async (t) => {
    const status = async (path: string, method = 'GET') =>
      (await fetch(`http://127.0.0.1:${port}${path}`, { method })).status;
    t.equal(await status('/v1/report'), 404);
    t.equal(await status('/'), 404);
    t.equal(await status('/metrics', 'POST'), 404);
    t.equal(await status('/metrics?x=1'), 200);
  });
});

t.test('monitoring: each alert says how bad it is, what happened and what to do, once for one thing', async (t) => {
  for (const { alert, labels, annotations, for: lasting = '0s' } of rules) {
    t.match(alert, /^Enactor[A-Z]\w+$/);
    t.match(labels.severity, /^(page|ticket)$/, alert);
    t.match(annotations.summary, /\{\{ \$labels\.instance \}\}/, alert);
    t.ok((annotations.action ?? '').length > 20, alert);
    t.match(lasting, /^\d+[smh]$/, alert);
    const { labels: groups, selectors } = readPromQl(rules.find((one) => one.alert === alert)?.expr ?? '');
    const used = [
      ...Object.values(annotations)
        .join(' ')
        .matchAll(/\$labels\.(\w+)/g),
    ].map(([, label = '']) => label);
    const lost = used.filter((label) => label !== 'instance' && !groups.includes(label));
    t.strictSame(lost, [], `${alert}: the labels of its words are those of its result`);
    t.ok(groups.length === 0 || groups.includes('instance'), `${alert}: of one node`);
    t.ok(selectors.length > 0);
  }
  t.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length);
});

t.test('monitoring: the operator gets the same rules, and finds the port that the manifest names', async (t) => {
  const spec = (kind: string) => operator.find((one) => one.kind === kind)?.spec;
  t.strictSame(spec('PrometheusRule'), plain);
  const { podMetricsEndpoints, selector } = spec('PodMonitor') as {
    podMetricsEndpoints: readonly { port: string }[];
    selector: { matchLabels: Readonly<Record<string, string>> };
  };
  const manifest = readFileSync('deploy/base/daemonset.yaml', 'utf8');
  t.match(manifest, new RegExp(`- name: ${podMetricsEndpoints[0]?.port}\\n\\s+containerPort: 9781`));
  t.match(manifest, /--metrics-listen=\$\(HOST_IP\):9781/);
  t.match(manifest, new RegExp(`app: ${selector.matchLabels.app}`));
  t.equal(selector.matchLabels.app, 'enactor', 'which is the job that rules and panels name');
});

t.test('monitoring: no panel lies on another, and each has something to show', async (t) => {
  const cells = new Set<string>();
  for (const { title, type, gridPos, targets = [] } of dashboard.panels) {
    t.ok(type === 'row' || targets.length > 0, title);
    t.ok(gridPos.x + gridPos.w <= 24, title);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        if (cells.has(`${x} ${y}`)) t.fail(`${title} lies on another at ${x} ${y}`);
        cells.add(`${x} ${y}`);
      }
  }
});

t.test('monitoring: what Prometheus would refuse is refused here', async (t) => {
  for (const text of [
    'rate(a)',
    'a[5m]',
    'sum by (x) (a[5m])',
    'rate(a[5m]',
    'a{b=c}',
    'a{b~"c"}',
    'a > ',
    'sum(a) b',
    'nothing(a)',
    'a{b=~"("}',
    'rate(a[5y])',
    'a ? b',
    'histogram_quantile(0.9)',
  ])
    t.throws(() => readPromQl(text), text);
});

/** Metric -> label -> values. Those without a sample are there without labels. */
function samplesIn(text: string): ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>> {
  const all = new Map<string, Map<string, Set<string>>>();
  for (const line of text.split('\n')) {
    const [, name = '', labels = ''] = /^([a-zA-Z_]\w*)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === '') continue;
    const own = all.get(name) ?? new Map<string, Set<string>>();
    all.set(name, own);
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="([^"]*)"/g))
      own.set(label, (own.get(label) ?? new Set()).add(value));
  }
  return all;
}

/** Labels that a metric does not have, and values that it never has. */
function unknownIn(
  { name, matchers }: Selector,
  told: ReadonlyMap<string, ReadonlyMap<string, ReadonlySet<string>>>,
): readonly string[] {
  return matchers.flatMap(({ label, op, value }) => {
    if (ADDED.includes(label)) return [];
    const seen = told.get(name)?.get(label);
    if (seen === undefined) return [`${name} has no ${label}`];
    const values = op.endsWith('~') ? value.split('|') : [value];
    const possible = label === 'outcome' ? [...seen, ...Object.keys(errorTable)] : [...seen];
    return values.filter((one) => !possible.includes(one)).map((one) => `${name}{${label}} is never ${one}`);
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}
