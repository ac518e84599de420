/** What an experiment is given: the cloud call by call, time, and somewhere to write its findings. */
import { setTimeout as wait } from 'node:timers/promises';
import type { ProfileSettings } from '../vpc/cloud-profile.ts';
import { ESTIMATED, type EstimatedDelay } from './estimates.ts';
import type { Finding } from './finding.ts';
import { notTried } from './finding.ts';
import type { RawCloud, SeenEni } from './raw-cloud.ts';
import type { RawMetadata } from './raw-metadata.ts';

export type Plan = {
  readonly vSwitchId: string;
  readonly securityGroupId: string;
  /** null: nothing is attached, and what needs that stays unknown. */
  readonly instanceId: string | null;
  /** A vSwitch with few addresses left, which a moment's lack of harms nobody; null: partial answers stay unknown. */
  readonly scarceVSwitchId: string | null;
  /** On every ENI of this run. */
  readonly tags: Readonly<Record<string, string>>;
  /** Between two looks, in milliseconds: how finely things are timed. */
  readonly pollMs: number;
  /** A lab's cloud may run faster than life: times are told as in life. */
  readonly speed: number;
  /** What is awaited for longer counts as not coming, in milliseconds of life. */
  readonly patienceMs: number;
};

export type BenchOptions = {
  readonly plan: Plan;
  readonly raw: RawCloud;
  /** null: this is not run on an instance. */
  readonly metadata: RawMetadata | null;
  /** Whether this machine has a device with this MAC; null: this is not the instance. */
  readonly hasDevice: ((mac: string) => boolean) | null;
  readonly found: (finding: Finding) => void;
  /** What is being done now, for people who wait. */
  readonly doing: (what: string) => void;
  readonly signal: AbortSignal;
};

export class Bench {
  readonly plan: Plan;
  readonly raw: RawCloud;
  readonly metadata: RawMetadata | null;
  readonly hasDevice: BenchOptions['hasDevice'];
  readonly found: BenchOptions['found'];
  readonly doing: BenchOptions['doing'];
  readonly #signal: AbortSignal;
  /** Of what is timed more than once (calls, lags) the longest counts: the simulated cloud is to be no kinder. */
  readonly #times = new Map<EstimatedDelay, number>();

  constructor(options: BenchOptions) {
    this.plan = options.plan;
    this.raw = options.raw;
    this.metadata = options.metadata;
    this.hasDevice = options.hasDevice;
    this.found = options.found;
    this.doing = options.doing;
    this.#signal = options.signal;
  }

  /** Milliseconds of life from now until `check` holds; null: not within the plan's patience. */
  async until(check: () => Promise<boolean> | boolean): Promise<number | null> {
    const startMs = performance.now();
    for (;;) {
      const askedMs = performance.now();
      if (await check()) return (askedMs - startMs) * this.plan.speed;
      if ((askedMs - startMs) * this.plan.speed > this.plan.patienceMs) return null;
      await wait(this.plan.pollMs, undefined, { signal: this.#signal });
    }
  }

  timed(delay: EstimatedDelay, lifeMs: number): void {
    this.#times.set(delay, Math.max(this.#times.get(delay) ?? 0, lifeMs));
  }

  /** Of a call's own time. */
  callTimed(delay: EstimatedDelay, ms: number): void {
    this.timed(delay, ms * this.plan.speed);
  }

  /** Of what `until` told. */
  awaited(delay: EstimatedDelay, lifeMs: number | null): void {
    this.timed(delay, lifeMs ?? Number.POSITIVE_INFINITY);
  }

  async eni(eniId: string): Promise<SeenEni | null> {
    const reply = await this.raw.describe({ eniIds: [eniId] });
    if (!reply.ok) return null;
    this.callTimed('describeCallMs', reply.ms);
    return reply.value.enis.find((one) => one.eniId === eniId) ?? null;
  }

  /** The times as findings. What is nothing within one look is told as 0. */
  timeFindings(): Finding[] {
    return (Object.keys(ESTIMATED) as EstimatedDelay[]).map((delay) => {
      const { says, range } = ESTIMATED[delay];
      const [from, to] = range;
      const assumed = `${says} within ${seconds(from)} to ${seconds(to)}`;
      const lifeMs = this.#times.get(delay);
      if (lifeMs === undefined) return notTried(delay, assumed, 'not tried');
      if (lifeMs === Number.POSITIVE_INFINITY) {
        const seen = `not within ${seconds(this.plan.patienceMs)}`;
        return { name: delay, assumed, seen, verdict: 'differs', settings: null };
      }
      // A look takes time itself, and one may just have missed it.
      const slackMs = 2 * this.plan.pollMs * this.plan.speed;
      const within = lifeMs >= from - slackMs && lifeMs <= to + slackMs;
      const settings: ProfileSettings = { delays: { [delay]: Math.round(lifeMs) } };
      return { name: delay, assumed, seen: seconds(lifeMs), verdict: within ? 'agrees' : 'differs', settings };
    });
  }
}

const seconds = (ms: number): string => (ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`);
