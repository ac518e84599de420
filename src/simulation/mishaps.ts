/** What is wrong around a node at the moment: calls of its ports that fail, are slow or are not told the truth, and who is away. */
import { FAILING_PORTS, type FailingPort } from './deed.ts';
import { LapsePlan } from './lapse-plan.ts';
import { LatePlan } from './late-plan.ts';
import type { Life } from './life.ts';

const NOTHING = Object.fromEntries(FAILING_PORTS.map((port) => [port, 0])) as Record<FailingPort, number>;

/** What an actor dies of that is made to. */
export const PLANTED_DEFECT = 'a defect, planted by the simulation';

export class Mishaps {
  readonly #nowMs: () => number;
  /** How many calls of a port fail from now on. */
  readonly failing = { ...NOTHING };
  /** Reads and writes that failed so far. */
  storeFailures = 0;
  /** Looks at the kernel, and changes of it, that failed so far; and in whose life the last one did. */
  kernelFailures = 0;
  kernelFailedIn: Life | null = null;
  /** How many lists of pods are short from now on. */
  shortLists = 0;
  lateDevicesMs = 0;
  slowApiMs = 0;
  slowStoreMs = 0;
  slowTurnsMs = 0;
  readonly lateCalls = new LatePlan();
  readonly lapse: LapsePlan;
  /** Until when nobody there answers this node. */
  awayUntilMs = { cloud: 0, metadata: 0 };

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
    this.lapse = new LapsePlan(nowMs);
  }

  /** All is well from now on. */
  end(): void {
    Object.assign(this.failing, NOTHING);
    Object.assign(this, { shortLists: 0, lateDevicesMs: 0, slowApiMs: 0, slowStoreMs: 0, slowTurnsMs: 0 });
    this.lateCalls.clear();
    this.awayUntilMs = { cloud: 0, metadata: 0 };
  }

  away(who: 'cloud' | 'metadata' | 'both', forMs: number): void {
    const endMs = this.#nowMs() + forMs;
    const { cloud, metadata } = this.awayUntilMs;
    this.awayUntilMs = {
      cloud: who === 'metadata' ? cloud : Math.max(cloud, endMs),
      metadata: who === 'cloud' ? metadata : Math.max(metadata, endMs),
    };
  }

  isAway(who: 'cloud' | 'metadata'): boolean {
    return this.#nowMs() < this.awayUntilMs[who];
  }

  /** Asked once for each call of a port: why it fails, or null. */
  failure(port: FailingPort): string | null {
    if (this.failing[port] <= 0) return null;
    this.failing[port] -= 1;
    return 'planted by the simulation';
  }

  storeFailure(): string | null {
    const failure = this.failure('store');
    if (failure !== null) this.storeFailures += 1;
    return failure;
  }

  kernelFailure(life: Life): string | null {
    const failure = this.failure('kernel');
    if (failure !== null) {
      this.kernelFailures += 1;
      this.kernelFailedIn = life;
    }
    return failure;
  }

  metadataFailure(): string | null {
    return this.isAway('metadata') ? 'no route to host' : this.failure('metadata');
  }

  /** Whether the list of pods that is asked for now leaves some out. */
  isShort(): boolean {
    this.lapse.listed();
    if (this.lapse.isOf('api')) return true;
    this.shortLists -= 1;
    return this.shortLists >= 0;
  }
}
