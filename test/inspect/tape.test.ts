/** The past as the page shows it: each moment is what a replay up to there comes to, and the last one is what the node tells of itself. */
import t from 'tap';
import { replayed } from '../../actors/replay.ts';
import { BUNDLE_VERSION } from '../../src/core/support-bundle.ts';
import { type Bundle, bundleSource } from '../../src/inspect/bundle-source.ts';
import { simulationSource } from '../../src/inspect/simulation-source.ts';
import type { NodeReport } from '../../src/ports/introspection.ts';
import { eventually, oneNode } from '../actors/one-node.ts';

/** A replay does not know since when things are as they are; a tape does. */
const ageless = ({ state, enis, leases, waiting, pool, actors }: NodeReport): unknown =>
  JSON.parse(
    JSON.stringify({
      ...{ state, leases, waiting, pool },
      enis: enis.map(({ sinceMs: _, phaseSinceMs: __, ...eni }) => eni),
      actors: actors.map(({ path, state: is }) => `${path} ${is}`).sort(),
    }),
  );

t.test('tape: every moment is what a replay of the inputs up to there comes to', async (t) => {
  const lab = await oneNode({ settings: { minIdle: 1, maxIdle: 2 } });
  t.teardown(() => lab.stop());
  await lab.serving();
  await Promise.all(['a', 'b', 'c'].map((name) => lab.add(name)));
  await lab.del('b');
  await eventually('it rests', () => lab.report().pool?.state === 'resting');
  const { introspection } = lab.node;
  const life = introspection.life();
  const report = introspection.report();
  const { inputs: all } = introspection.journal({ since: life.seqBefore, limit: 1_000 });
  const inputs = all.filter(({ seq }) => seq <= (report.atSeq ?? 0));
  const program = { node: '', platform: '', kernel: '' };
  const bundle: Bundle = {
    ...{ enactorSupport: BUNDLE_VERSION, takenAtMs: 0, life, report, inputs, whys: [] },
    config: {},
    log: [],
    program,
  };
  const source = bundleSource(bundle, 'a bundle');

  const { why, marks } = await source.past(0);
  t.equal(why, null);
  t.equal(marks.length, inputs.length, 'every input is on the time line');
  for (let index = 1; index <= inputs.length; index += 1) {
    const moment = await source.momentOf(0, index);
    const again = replayed(inputs.slice(0, index), life.settings);
    t.strictSame(moment && ageless(moment.report), ageless(again.report()), `input ${index}`);
    again.root.stop();
  }
  const last = await source.momentOf(0, inputs.length);
  t.strictSame(last && ageless(last.report), ageless(report), 'the last is what the node told');
  t.match(await source.actorAt(0, inputs.length, 'node/eniFactory/eni:0'), { chart: 'eni', context: { slot: 0 } });
  t.equal(await source.actorAt(0, 1, 'node/eniFactory/eni:0'), null, 'it was not there yet');
  const early = await source.momentOf(0, Math.ceil(inputs.length / 2));
  t.ok((early?.seen.length ?? 0) > 0 && (early?.seen.length ?? 0) < (last?.seen.length ?? 0));
  t.ok(
    early?.seen.every(({ atMs }) => atMs <= early.atMs),
    'nothing of what came later is told',
  );
  t.throws(() => bundleSource({ ...bundle, inputs: inputs.slice(3) }, 'cut'), /no longer reaches back/);
});

t.test('tape: a simulated run is looked at life by life', async (t) => {
  const { told, past, momentOf } = await simulationSource(7, 200);
  t.match(told, { what: 'simulation', title: 'seed 7: no violation' });
  t.ok(told.tapes.length >= 2, told.tapes.join(', '));
  for (const [tape] of told.tapes.entries()) {
    const { marks } = await past(tape);
    t.ok(marks.length > 0);
    const moment = await momentOf(tape, marks.length);
    t.equal(moment?.atMs, marks.at(-1)?.[0]);
    t.equal(moment?.report.actors[0]?.path, 'node');
  }
  t.equal((await past(99)).why, 'there is no such life');
});
