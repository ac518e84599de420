/** Events a second through an ENI actor of thirty addresses, against a bare actor of two states. What is sent: charts-load.ts. */
import type { ChartsAnswer, ChartsLoad } from './charts-load.ts';
import { type Bench, compared, sampled } from './measurement.ts';
import { runUnderNode } from './node-program.ts';

const DEFAULT_ROUNDS = 15;
const WARM_UP = 3;
const EVENTS = 30_000;
const UNREPORTED_AIM = { atLeast: 0.8 };
const REPORTED_AIM = { atLeast: 0.55 };

export const charts: Bench = {
  name: 'charts',
  summary: 'events a second through an ENI actor with 30 addresses, against a bare actor of two states',
  async run(options) {
    const load: ChartsLoad = { rounds: options.rounds ?? DEFAULT_ROUNDS, warmUp: WARM_UP, events: EVENTS };
    const { bare, unreported, reported } = await runUnderNode<ChartsAnswer>('charts-load', load, options);
    return [
      sampled('charts', 'bare actor of two states', bare, '/s'),
      sampled('charts', 'ENI with 30 addresses, unreported', unreported, '/s'),
      sampled('charts', 'ENI with 30 addresses, reported', reported, '/s'),
      compared('charts', 'unreported, of the bare actor’s', unreported, bare, UNREPORTED_AIM),
      compared('charts', 'reported, of the bare actor’s', reported, bare, REPORTED_AIM),
    ];
  },
};
