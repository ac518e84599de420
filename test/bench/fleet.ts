/**
 * A fleet on one account: 1,000 and 5,000 nodes restart in the same second, or scale from 10 to 100 pods each, on virtual time. How long until
 * 50, 99 and 100 % are served, and which of the account's calls were refused or wasted, against the best schedule and against a fixed back-off.
 *
 * Simulated are 200 nodes, or 100 that scale out, each the whole daemon from its actors up, on the same share of the account's limits: what a node meets depends on
 * calls a minute and node alone. The best schedule is a bound that no fleet can beat: a node alone, without limits, tells which calls one
 * needs and how long they take; then whole minutes, in which the cloud takes as many as it takes and not one is refused.
 */
import { apiRates } from '../../src/core/api-rates.ts';
import type { FleetAnswer, FleetLoad } from './fleet-load.ts';
import { type Bench, type BenchOptions, type Measurement, measurement, quantile } from './measurement.ts';
import { runUnderNode } from './node-program.ts';

/** A scale-out has 90 pods a node, which come again and again where a fixed back-off makes them wait for an hour. */
const SIMULATED = { restart: 200, scale: 100 } as const;
const FLEETS = [1_000, 5_000] as const;
const TIME_AIM = 1.3;
const REFUSED_AIM_PERCENT = 5;
/** The aims are on this one. */
const HELD = 1_000;
const MINUTE_S = 60;
const SHARES = [0.5, 0.99, 1] as const;

const run = (load: FleetLoad, options: BenchOptions) => runUnderNode<FleetAnswer>('fleet-load', load, options);

/** Seconds until a share of the fleet can be served at best. */
export function bestSeconds(
  { done, servedMs }: Pick<FleetAnswer, 'done' | 'servedMs'>,
  nodes: number,
  perMinute: Readonly<Record<string, number>>,
  share: number,
): number {
  const minutes = Object.entries(done).map(([api, calls]) => {
    const limit = perMinute[api];
    return limit === undefined ? 1 : Math.max(1, Math.ceil((share * nodes * calls) / limit));
  });
  return (Math.max(1, ...minutes) - 1) * MINUTE_S + Math.max(...servedMs) / 1_000;
}

/** Each of the two by itself: a restart is a few minutes of one core, a scale-out of 18,000 pods many times that. */
const NAMES = { restart: 'fleet', scale: 'fleet-scale' } as const;

const benchOf = (event: FleetLoad['event'], what: string): Bench => ({
  name: NAMES[event],
  summary: `${FLEETS.join(' and ')} nodes of one account ${what} at once (virtual time), against the best schedule and fixed back-off`,
  async run(options) {
    const rows: Measurement[] = [];
    const alone = await run({ event, nodes: 1, fleet: 1, by: 'enactor', perMinute: null, seed: 1 }, options);
    options.progress(`a node alone: ${JSON.stringify(alone.done)}`);
    for (const nodes of FLEETS) {
      const perMinute = Object.fromEntries(
        Object.entries(apiRates).map(([api, rate]) => [
          api,
          Math.max(1, Math.round((rate * SIMULATED[event]) / nodes)),
        ]),
      );
      for (const by of ['enactor', 'fixed'] as const) {
        const answer = await run({ event, nodes: SIMULATED[event], fleet: nodes, by, perMinute, seed: 1 }, options);
        rows.push(...figures({ event, nodes, by, answer, alone, perMinute }));
        options.progress(`${nodes} by ${by}: refused ${JSON.stringify(answer.refused)} of ${answer.all}`);
      }
    }
    return rows;
  },
});

export const fleet = benchOf('restart', 'restart');
export const fleetScale = benchOf('scale', 'scale from 10 to 100 pods each');

type Ran = {
  readonly event: FleetLoad['event'];
  readonly nodes: number;
  readonly by: FleetLoad['by'];
  readonly answer: FleetAnswer;
  readonly alone: FleetAnswer;
  readonly perMinute: Readonly<Record<string, number>>;
};

function figures({ event, nodes, by, answer, alone, perMinute }: Ran): readonly Measurement[] {
  const ours = by === 'enactor';
  const held = ours && nodes === HELD;
  const of = (what: string): string => `${nodes} ${event}${ours ? '' : ', fixed back-off'}: ${what}`;
  const bench = NAMES[event];
  const { servedMs, answeredMs, unserved, done, all } = answer;
  const refused = Object.values(answer.refused).reduce((sum, calls) => sum + calls, 0);
  const served = SHARES.flatMap((share): readonly Measurement[] => {
    const percent = `${Math.round(100 * share)} % served`;
    if (servedMs.length < share * (servedMs.length + unserved))
      return [measurement(bench, of(`${percent}: never, left`), unserved, 'count')];
    const seconds = quantile(servedMs, share) / 1_000;
    const best = bestSeconds(alone, SIMULATED[event], perMinute, share);
    const ratio = measurement(
      bench,
      of(`${percent}, of the best schedule`),
      seconds / best,
      'x',
      held && share === 0.99 ? TIME_AIM : null,
    );
    return [measurement(bench, of(percent), seconds, 's'), ratio];
  });
  const needed = Object.entries(done).reduce(
    (sum, [api, calls]) => sum + Math.min(calls, (alone.done[api] ?? 0) * SIMULATED[event]),
    0,
  );
  const carriedOut = all - refused;
  const firsts =
    answeredMs.length === 0
      ? []
      : [measurement(bench, of('first AllocIP answered, 99 %'), quantile(answeredMs, 0.99) / 1_000, 's')];
  return [
    ...served,
    ...firsts,
    measurement(bench, of('calls refused'), (100 * refused) / all, '%', held ? REFUSED_AIM_PERCENT : null),
    measurement(bench, of('calls beyond those of nodes alone'), (100 * (carriedOut - needed)) / all, '%'),
  ];
}
