/**
 * What kubelet and the runtime do with one place on the node, again and again: a pod comes, lives while it is measured, and goes in one of
 * the ways pods go. Sandboxes that fail are deleted and made anew; plugins die now and then; a DEL that is asked for is asked for until it succeeds.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import type { Seeded } from '../../src/simulation/seeded.ts';
import type { RunOptions, Runtime, Sandbox } from '../lab/whole-path.ts';
import { Heartbeat, type Lost } from './heartbeat.ts';

/** How a pod ends; `lost`: nobody ever calls DEL and the pod is gone; `finished`: the same, and the API server knows it as succeeded for a while. */
const ENDS = ['deleted', 'deleted', 'deleted', 'deleted', 'deleted', 'lost', 'finished', 'late', 'replaced'] as const;
type End = (typeof ENDS)[number];

/** While some daemon served: on a machine that is busy one may need long until it does. */
const GIVEN_UP_MS = 90_000;
/** Also without one. */
const GIVEN_UP_AT_LAST_MS = 600_000;
const RETRY_MS = 300;
const PLUGIN_DEATHS = 0.05;

export type Tally = {
  adds: number;
  refused: number;
  dels: number;
  noDel: number;
  pluginsKilled: number;
  beats: number;
};

export type KubeletOptions = {
  readonly runtime: Runtime;
  readonly place: number;
  /** The controller is a StatefulSet: its address is kept for the next pod of the name. */
  readonly stateful: boolean;
  readonly random: Seeded;
  readonly tally: Tally;
  /** Pods that live, and their addresses: of all places. */
  readonly live: Map<Sandbox, string>;
  /** How long some daemon has served since that instant. */
  readonly servedMs: (sinceMs: number) => number;
  /** Whether this place is to be used now. */
  readonly open: () => boolean;
  readonly lifeMaxMs: number;
  readonly failed: (what: string) => void;
  readonly lost: (lost: Lost) => void;
  readonly gap: (ms: number) => void;
  /** The pods that live stay, and no others come. */
  readonly stop: AbortSignal;
};

export class Kubelet {
  readonly #options: KubeletOptions;
  readonly #later: Promise<unknown>[] = [];
  readonly #name: string;
  #heartbeat: Heartbeat | null = null;
  #sandbox: Sandbox | null = null;
  #sandboxes = 0;

  constructor(options: KubeletOptions) {
    this.#options = options;
    this.#name = `${options.stateful ? 'db' : 'web'}-${options.place}`;
  }

  /** Until it is told to stop; then the place has a pod that lives, or none. */
  async run(): Promise<void> {
    const { runtime, random, open, stop, lifeMaxMs } = this.#options;
    while (!stop.aborted) {
      await this.#rest(random.between(0, lifeMaxMs / 8));
      if (!open() || stop.aborted) continue;
      const uid = runtime.createPod(this.#name, 'default', {}, this.#options.stateful ? STATEFUL : {});
      await this.#start(uid);
      for (;;) {
        // Many live shortly, some long.
        await this.#rest(lifeMaxMs * random.fraction() ** 2);
        if (stop.aborted) break;
        const end = ENDS[random.between(0, ENDS.length - 1)] ?? 'deleted';
        if (!(await this.#end(end, uid))) break;
      }
    }
    await Promise.all(this.#later);
  }

  /** The pod that lives is deleted as it should be. */
  async empty(): Promise<void> {
    if (this.#sandbox !== null) await this.#end('deleted', '');
  }

  /** Nothing is measured any more, whatever lives; idempotent. */
  async end(): Promise<void> {
    await this.#heartbeat?.stop();
    this.#heartbeat = null;
  }

  /** Ends early when told to stop. */
  async #rest(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#options.stop }).catch(() => {});
  }

  async #start(uid: string): Promise<void> {
    const { runtime, live, failed, tally, lost } = this.#options;
    const sinceMs = performance.now();
    for (;;) {
      this.#sandboxes += 1;
      const sandbox = runtime.sandbox(`${this.#name}-${this.#sandboxes}`, this.#name, uid);
      const ran = await runtime.add(sandbox, this.#perhapsKilled());
      tally.adds += 1;
      if (ran.exitCode === 0) {
        const { ip } = ran;
        const other = [...live].find(([, held]) => held === ip);
        if (other !== undefined) failed(`${sandbox.id} got ${ip}, which ${other[0].id} has`);
        const { instanceId } = runtime.node;
        if (!runtime.enis.some((eni) => eni.instanceId === instanceId && eni.ipv4.includes(ip)))
          failed(`${sandbox.id} got ${ip}, which is on no ENI here`);
        live.set(sandbox, ip);
        this.#sandbox = sandbox;
        const far = runtime.lab.place('elsewhere').ips[0] ?? '';
        this.#heartbeat = new Heartbeat(await runtime.echo(sandbox), ip, far, lost);
        return;
      }
      if (ran.signal !== 'SIGKILL') tally.refused += 1;
      await runtime.del(sandbox, this.#perhapsKilled()); // one try: what it leaves, the daemon finds
      runtime.removeNetns(sandbox);
      if (this.#isOver(sinceMs)) {
        failed(`${this.#name} has not started, and ${GIVEN_UP_MS} ms of that time a daemon served: ${ran.stdout}`);
        runtime.deletePod(this.#name);
        return;
      }
      await sleep(RETRY_MS);
    }
  }

  /** Whether the pod lives on, in another sandbox. */
  async #end(end: End, uid: string): Promise<boolean> {
    const { runtime, random, live, tally, gap } = this.#options;
    const [sandbox, heartbeat] = [this.#sandbox, this.#heartbeat];
    if (sandbox === null || heartbeat === null) return false;
    await heartbeat.stop();
    tally.beats += heartbeat.sent;
    gap(heartbeat.longestGapMs);
    await runtime.closeEcho(sandbox);
    live.delete(sandbox);
    [this.#sandbox, this.#heartbeat] = [null, null];
    switch (end) {
      case 'deleted':
        await this.#del(sandbox);
        runtime.removeNetns(sandbox);
        runtime.deletePod(this.#name);
        return false;
      case 'lost':
        tally.noDel += 1;
        runtime.removeNetns(sandbox);
        runtime.deletePod(this.#name);
        return false;
      case 'finished':
        tally.noDel += 1;
        this.#setPhase('Succeeded');
        runtime.removeNetns(sandbox);
        await this.#rest(random.between(1_000, 6_000));
        runtime.deletePod(this.#name);
        return false;
      case 'late':
        runtime.removeNetns(sandbox);
        runtime.deletePod(this.#name);
        this.#later.push(sleep(random.between(500, 8_000)).then(() => this.#del(sandbox, { netns: '' })));
        return false;
      case 'replaced': {
        // The sandbox has died: the pod gets a new one first, the old one's DEL comes after.
        runtime.removeNetns(sandbox);
        await this.#start(uid);
        this.#later.push(sleep(random.between(0, 2_000)).then(() => this.#del(sandbox)));
        return this.#sandbox !== null;
      }
    }
  }

  async #del(sandbox: Sandbox, options: RunOptions = {}): Promise<void> {
    const { runtime, tally, failed } = this.#options;
    const sinceMs = performance.now();
    for (;;) {
      const ran = await runtime.del(sandbox, { ...options, ...this.#perhapsKilled() });
      tally.dels += 1;
      if (ran.exitCode === 0) return;
      if (this.#isOver(sinceMs))
        return failed(`DEL of ${sandbox.id} fails, and ${GIVEN_UP_MS} ms of that time a daemon served: ${ran.stdout}`);
      await sleep(RETRY_MS);
    }
  }

  #isOver(sinceMs: number): boolean {
    return this.#options.servedMs(sinceMs) > GIVEN_UP_MS || performance.now() - sinceMs > GIVEN_UP_AT_LAST_MS;
  }

  #perhapsKilled(): RunOptions {
    const { random, tally } = this.#options;
    const afterMs = random.between(0, 40);
    if (!random.chance(PLUGIN_DEATHS)) return {};
    return {
      started: (child) => {
        const timer = setTimeout(() => {
          tally.pluginsKilled += child.kill('SIGKILL') ? 1 : 0;
        }, afterMs);
        child.once('close', () => clearTimeout(timer));
      },
    };
  }

  #setPhase(phase: string): void {
    const { lifecycle, store } = this.#options.runtime.lab.api;
    const pods = resourceNamed('pods');
    const object = pods === null ? null : store.get(pods, 'default', this.#name);
    if (pods !== null && object !== null) lifecycle.update(pods, object, { ...object, status: { phase } }, 'status');
  }
}

const STATEFUL = {
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'u-db', controller: true }],
};
