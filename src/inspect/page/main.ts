/** The inspector's page, put together. */
import { ActorPane } from './actor-pane.ts';
import { ChartPane } from './chart-pane.ts';
import { Connection, signedIn } from './connection.ts';
import { part, setClass, setText, setTitle } from './element.ts';
import { EniPane } from './eni-pane.ts';
import { FollowPane } from './follow-pane.ts';
import { listenToKeys } from './keyboard.ts';
import { MessagesPane } from './messages-pane.ts';
import { Model } from './model.ts';
import { TimeBar } from './time-bar.ts';
import { mood, TreePane } from './tree-pane.ts';

const PANES = ['tree-pane', 'eni-pane', 'chart-pane', 'messages-pane', 'actor-pane'] as const;
const THEMES = ['', 'light', 'dark'];
const TICK_MS = 1_000;

async function begin(): Promise<void> {
  const key = await signedIn();
  if (key === null) {
    setText(part('notice'), 'Open the link that enactor inspect prints: each works once, in one tab.');
    part('notice').hidden = false;
    return;
  }
  const model = new Model(new Connection(key));
  const tree = new TreePane(model);
  new EniPane(model);
  const chart = new ChartPane(model);
  new MessagesPane(model);
  new ActorPane(model);
  const follow = new FollowPane(model);
  const time = new TimeBar(model);
  model.on(['source', 'report', 'time'], () => head(model));
  let begun = false;
  model.on(['source'], () => {
    document.body.dataset.what = model.source?.what ?? '';
    if (begun || model.source === null) return;
    begun = true;
    if (model.source.what === 'bundle' || model.source.what === 'simulation')
      void model.readPast().then(() => model.travelTo(model.marks.length));
    if (model.source.what === 'node') void model.readPast();
  });
  panes();
  const theme = themes();
  listenToKeys({
    ' ': () => time.pauseOrGo(),
    ArrowLeft: () => time.step(-1),
    ArrowRight: () => time.step(1),
    Home: () => void model.travelTo(0),
    End: () => time.end(),
    p: () => time.play(),
    l: () => model.goLive(),
    a: () => time.selectActor(),
    j: () => tree.step(1),
    k: () => tree.step(-1),
    o: () => tree.openLeases(),
    '/': () => follow.focus(),
    Escape: () => leave(model, follow),
    '+': () => chart.zoom(1.2),
    '-': () => chart.zoom(1 / 1.2),
    '0': () => chart.fit(),
    t: theme,
    '?': () => (part('help') as HTMLDialogElement).showModal(),
    ...Object.fromEntries(PANES.map((id, index) => [String(index + 1), () => alone(id)])),
  });
  part('help-open').addEventListener('click', () => (part('help') as HTMLDialogElement).showModal());
  // What is said relative to now grows older by itself.
  setInterval(() => model.live && model.changed('report'), TICK_MS);
  void model.connection.listen(
    (told) => model.hear(told),
    (why) => {
      const back = model.lost !== null && why === null;
      model.lost = why;
      if (back || model.charts.size === 0) void model.readCharts().catch(() => {});
      model.changed('source');
    },
  );
}

function head(model: Model): void {
  const { source, report, away, lost, chartsFailure } = model;
  setText(part('source'), source?.title ?? '');
  setTitle(part('source'), source?.title ?? '');
  setText(part('node-state'), report.state);
  setClass(part('node-state'), `state is-${mood(report.state)}`);
  const { pool } = report;
  const held = pool === null ? 0 : pool.counts.bound + pool.counts.offered + pool.counts.reserved;
  setText(
    part('pool'),
    pool === null ? '' : `${held} of ${pool.capacity} addresses in use, keeps ${pool.minIdle} to ${pool.maxIdle} idle`,
  );
  const wrong =
    lost ?? away ?? chartsFailure ?? (report.missing.length > 0 ? `missing: ${report.missing.join('; ')}` : null);
  setText(part('notice'), wrong ?? '');
  part('notice').hidden = wrong === null;
  document.title = `${source?.title ?? ''} · enactor inspect`;
}

/** Each pane can have all of the room. */
function panes(): void {
  for (const id of PANES)
    part(id)
      .querySelector('.grow')
      ?.addEventListener('click', () => alone(id));
}

function alone(id: (typeof PANES)[number]): void {
  const { body } = document;
  body.dataset.alone = body.dataset.alone === id ? '' : id;
  for (const one of PANES) part(one).classList.toggle('alone', body.dataset.alone === one);
}

function leave(model: Model, follow: FollowPane): void {
  const { body } = document;
  if (body.dataset.alone) alone(body.dataset.alone as (typeof PANES)[number]);
  else if (model.follow !== null) follow.stop();
}

/** As the system has it, light, dark. */
function themes(): () => void {
  const set = (theme: string): void => {
    document.documentElement.dataset.theme = theme;
    localStorage.setItem('enactor-theme', theme);
  };
  set(localStorage.getItem('enactor-theme') ?? '');
  const next = (): void => {
    const now = document.documentElement.dataset.theme ?? '';
    set(THEMES[(THEMES.indexOf(now) + 1) % THEMES.length] ?? '');
  };
  part('theme').addEventListener('click', next);
  return next;
}

void begin();
