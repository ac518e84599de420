/**
 * The soak: one node of the lab with the real daemon, plugin, kernel and router, on which pods come and go while everything that happens to
 * real nodes happens to it. Every pod is measured all the time, and at the end cloud, store and kernel have to tell the same.
 *
 * The seed decides what is done and how long the pauses are; processes and the kernel keep their own time, so that a seed repeats a mixture
 * and no schedule.
 */
import { setMaxListeners } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { addRule } from '../../src/adapters/netlink/wire/rule.ts';
import { type Lab, startLab } from '../../src/lab/lab.ts';
import { isServing } from '../../src/lab/node/debug-client.ts';
import { Seeded } from '../../src/simulation/seeded.ts';
import { eventually, Runtime, type Sandbox } from '../lab/whole-path.ts';
import { Excuses } from './excuses.ts';
import { type Lost, PATIENCE_MS } from './heartbeat.ts';
import { Kubelet, type Tally } from './kubelet.ts';
import { FLUSHES, Mischief } from './mischief.ts';
import { Verdict } from './verdict.ts';

export type ChurnOptions = {
  readonly seed: number;
  readonly durationMs: number;
  readonly say: (line: string) => void;
  /** Ends the churn early; what is there by then is judged all the same. */
  readonly signal?: AbortSignal;
  /** Where logs go when something failed; nowhere when left out. */
  readonly evidence?: string;
};

export type ChurnResult = { readonly ok: boolean; readonly failures: readonly string[]; readonly summary: string };

const DIST = resolve(process.env.ENACTOR_DIST ?? 'dist');
/** The node holds 12; pods that went without a DEL keep theirs for a while. */
const PLACES = 9;
const STATEFUL = 2;
/** Places that are in use when the tide is low: then ENIs go, and come back with the flood. */
const LOW_TIDE = 2;
const PROGRESS_MS = 5_000;
const SERVING_MS = 180_000;
/** Lives in a row that may end before they serve: on a machine that is busy no life might ever come so far. */
const UNSERVED_MAX = 2;
const SETTLED_MS = 240_000;
const WATCH_MS = 100;
/** Longer than this a timer of ours is late only where the whole machine stands still: what was measured meanwhile tells nothing of the node. */
const HELD_UP_MS = 1_000;
const IN_A_ROW_MS = 2_000;
/** Below it the process is not the daemon yet. */
const STARTED_KIB = 20_480;
/** Of a run that is as short as a test. */
const SHORT_MS = 60_000;

/** Everything rests shortly, so that all of it happens often. */
const config = {
  min_pool_size: 1,
  max_pool_size: 2,
  cool_down: '1s',
  pool_period: '300ms',
  eni_min_age: '1s',
  ip_reservation: '3s',
  gc_period: '1s',
  gc_grace: '1s',
  kernel_period: '3s',
  kernel_gather: '50ms',
  repair_wait: '100ms',
  repair_wait_max: '500ms',
  leftover_grace: '2s',
  cloud_period: '3s',
  backoff: '100ms',
  backoff_max: '2s',
};

export async function churn({ seed, durationMs, say, signal, evidence }: ChurnOptions): Promise<ChurnResult> {
  const lab = await startLab({ nodes: 1, config, programs: { enactord: join(DIST, 'enactord.js'), cniDir: DIST } });
  const verdict = new Verdict(say);
  let summary = '';
  try {
    summary = await new Churn(lab, verdict, { seed, durationMs, say, ...(signal && { signal }) }).run();
  } catch (error) {
    verdict.fail(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
  if (verdict.failures.length > 0 && evidence !== undefined) {
    mkdirSync(evidence, { recursive: true });
    for (const { dir } of lab.nodes)
      for (const name of ['enactord.log', 'cni.log']) cpSync(join(dir, name), join(evidence, name), { force: true });
    say(`the logs are in ${evidence}`);
  }
  for (const trouble of await lab.stop()) verdict.fail(trouble);
  return { ok: verdict.failures.length === 0, failures: verdict.failures, summary };
}

class Churn {
  readonly #lab: Lab;
  readonly #runtime: Runtime;
  readonly #verdict: Verdict;
  readonly #options: Omit<ChurnOptions, 'evidence'>;
  readonly #excuses = new Excuses();
  readonly #mischief: Mischief;
  readonly #live = new Map<Sandbox, string>();
  readonly #tally: Tally = { adds: 0, refused: 0, dels: 0, noDel: 0, pluginsKilled: 0, beats: 0 };
  readonly #count = {
    kills: 0,
    stops: 0,
    flushes: 0,
    renewals: 0,
    excused: 0,
    lost: 0,
    heldUp: 0,
    routingFaults: 0,
    startMaxMs: 0,
  };
  readonly #memory: number[] = [];
  readonly #startMs = performance.now();
  /** Mischief and pods end apart: first nothing is broken any more, then it is looked at what lives. */
  readonly #over = new AbortController();
  #longestGapMs = 0;
  /** Lives in a row that have not served. */
  #unserved = 0;
  /** When each address lost its last ping without an excuse. */
  readonly #lostMs = new Map<string, number>();
  #flood = true;

  constructor(lab: Lab, verdict: Verdict, options: Omit<ChurnOptions, 'evidence'>) {
    const [node] = lab.nodes;
    if (node === undefined) throw new Error('the lab has no node');
    const host = new Netlink(openKoffiLibc(), node.guest.netns.fd);
    // What is somebody else's is here before all, so that it belongs to the node as it has to be found.
    host.apply([
      addRule({ family: 4, priority: 1_500, table: 77, source: { ip: '10.99.0.0', prefix: 16 } }),
      addRule({ family: 4, priority: 2_048, table: 77, source: { ip: '10.99.1.0', prefix: 24 } }),
    ]);
    host.close();
    this.#lab = lab;
    this.#runtime = new Runtime(lab, node);
    this.#verdict = verdict;
    this.#options = options;
    this.#mischief = new Mischief(this.#runtime);
    setMaxListeners(0, this.#over.signal); // each place and each mischief waits for it
  }

  async run(): Promise<string> {
    const { seed, durationMs, say, signal } = this.#options;
    const { confDir } = this.#runtime.node;
    await eventually(
      'the network is installed',
      async () => readFileSync(join(confDir, '10-enactor.conflist')) !== null,
    );
    const short = durationMs < SHORT_MS;
    const kubelets = Array.from({ length: PLACES }, (_, place) => this.#kubelet(place, short));
    const pods = kubelets.map((kubelet) => kubelet.run());
    const others = [this.#kill(short), this.#flush(short), this.#renew(short), this.#tide(short), this.#watchRouter()];
    const progress = setInterval(() => this.#progress(), PROGRESS_MS);
    const all = Promise.all([...pods, ...others]);
    try {
      await Promise.race([sleep(durationMs, undefined, signal && { signal }).catch(() => {}), all]);
      this.#over.abort();
      await all;
      clearInterval(progress);
      say('nothing is broken any more: waiting until all is repaired, and what went without a DEL is found');
      await this.#settle();
      say(`${this.#live.size} pods live: cloud, store and kernel are compared`);
      await this.#runtime.invariants(this.#verdict, this.#live, this.#count.routingFaults);
      await Promise.all(kubelets.map((kubelet) => kubelet.empty()));
      say('all pods were deleted: compared once more');
      await this.#settle();
      await this.#runtime.invariants(this.#verdict, new Map(), this.#count.routingFaults);
    } finally {
      // Also after a failure nothing may go on: a place that measures its pod would keep the process for ever.
      this.#over.abort();
      clearInterval(progress);
      await Promise.allSettled([...pods, ...others]);
      await Promise.all(kubelets.map((kubelet) => kubelet.end()));
      this.#mischief.close();
      await this.#runtime.end();
    }
    return this.#summary(seed);
  }

  #kubelet(place: number, short: boolean): Kubelet {
    return new Kubelet({
      runtime: this.#runtime,
      place,
      stateful: place < STATEFUL,
      random: this.#random(`place ${place}`),
      tally: this.#tally,
      live: this.#live,
      servedMs: (sinceMs) => this.#excuses.servedMs(sinceMs, performance.now()),
      open: () => this.#flood || place < LOW_TIDE,
      lifeMaxMs: short ? 6_000 : 40_000,
      failed: this.#verdict.fail,
      lost: (lost) => this.#lost(lost),
      gap: (ms) => {
        this.#longestGapMs = Math.max(this.#longestGapMs, ms);
      },
      stop: this.#over.signal,
    });
  }

  #random(label: string): Seeded {
    return new Seeded(this.#options.seed, label);
  }

  /** Resolves false when it is over. */
  async #pause(ms: number): Promise<boolean> {
    await sleep(ms, undefined, { signal: this.#over.signal }).catch(() => {});
    return !this.#over.signal.aborted;
  }

  /** The daemon dies at any moment, its own start included, and is sometimes asked to go; it comes back at once or a little later. */
  async #kill(short: boolean): Promise<void> {
    const random = this.#random('kill');
    const { node } = this.#runtime;
    const longestMs = short ? 3_000 : 12_000;
    while (await this.#pause(random.chance(0.15) ? random.between(20, 700) : random.between(1_000, longestMs))) {
      if (this.#unserved > UNSERVED_MAX) {
        await node.whenServing(SERVING_MS);
        this.#unserved = 0;
        continue;
      }
      const daemon = node.daemon;
      if (daemon === null || daemon.pid === null) throw new Error('there is no daemon to kill');
      // One that has only begun ends by the signal itself.
      const politely = random.chance(0.2) && (await isServing(node.debugSocket));
      this.#excuses.gone(performance.now());
      if (politely) {
        const { code, signal } = await daemon.stop();
        if (code !== 0) this.#verdict.fail(`asked to end, the daemon ended with ${code ?? signal}`);
      } else {
        daemon.signal('SIGKILL');
        await daemon.ended;
      }
      this.#count[politely ? 'stops' : 'kills'] += 1;
      if (random.chance(0.5)) await this.#pause(random.between(100, short ? 1_000 : 5_000));
      this.#start();
    }
    await node.whenServing(SERVING_MS);
  }

  /** Starts the daemon, and takes note of when it serves, should it live so long. */
  #start(): void {
    const { node } = this.#runtime;
    const startMs = performance.now();
    const daemon = node.startDaemon();
    this.#unserved += 1;
    void (async () => {
      while (node.daemon === daemon && daemon.pid !== null) {
        if (await isServing(node.debugSocket)) {
          if (node.daemon !== daemon || daemon.pid === null) return;
          const nowMs = performance.now();
          this.#excuses.serves(nowMs);
          this.#unserved = 0;
          this.#count.startMaxMs = Math.max(this.#count.startMaxMs, nowMs - startMs);
          return;
        }
        if (performance.now() - startMs > SERVING_MS)
          return this.#verdict.fail(`the daemon does not serve ${SERVING_MS} ms after its start`);
        await sleep(25);
      }
      const { problem } = daemon;
      if (problem !== null && !problem.includes('SIGKILL')) this.#verdict.fail(problem);
    })();
  }

  async #flush(short: boolean): Promise<void> {
    const random = this.#random('flush');
    while (await this.#pause(random.between(500, short ? 4_000 : 15_000))) {
      const what = FLUSHES[random.between(0, FLUSHES.length - 1)] ?? 'rules';
      // A clean-up of temporary files: no pod may notice.
      if (random.chance(0.15)) rmSync(this.#runtime.node.jsonSocket, { force: true });
      this.#excuses.broken(performance.now(), what);
      this.#mischief.flush(what, () => random.chance(0.5));
      this.#count.flushes += 1;
    }
  }

  /** A guest's agent: it finds the ENIs, renews for some time, and is told to let be. */
  async #renew(short: boolean): Promise<void> {
    const random = this.#random('agent');
    while (await this.#pause(random.between(1_000, short ? 3_000 : 20_000))) {
      const taken = new Map<string, ReturnType<Excuses['begun']>>();
      for (let times = random.between(1, 6); times > 0; times -= 1) {
        const nowMs = performance.now();
        for (const ip of this.#mischief.primaries())
          if (!taken.has(ip)) taken.set(ip, this.#excuses.begun(nowMs, 'agent', ip));
        await this.#mischief.lease();
        this.#count.renewals += 1;
        if (times > 1 && !(await this.#pause(random.between(200, 1_000)))) break;
      }
      for (const breach of taken.values()) breach.untilMs = performance.now();
    }
  }

  async #tide(short: boolean): Promise<void> {
    const random = this.#random('tide');
    while (await this.#pause(short ? random.between(3_000, 4_000) : random.between(10_000, 40_000)))
      this.#flood = !this.#flood;
  }

  /** A packet that left by a wrong ENI is excused as a ping is; whose it was the router does not tell. */
  async #watchRouter(): Promise<void> {
    let seen = 0;
    for (let going = true; going; ) {
      const lookedMs = performance.now();
      going = await this.#pause(WATCH_MS);
      this.#noteHeldUp(lookedMs);
      const { routingFault } = this.#lab.refused();
      const [before, now] = [this.#excuses.why(lookedMs, null), this.#excuses.why(performance.now(), null)];
      if (routingFault > seen && before === null && now === null)
        this.#verdict.fail(`${routingFault - seen} packets left by a wrong ENI, and nothing was broken`);
      seen = routingFault;
      this.#count.routingFaults = routingFault;
    }
  }

  /** A probe is given up by a timer of this process, which may come before the answer that has been here for long. */
  #noteHeldUp(sinceMs: number): void {
    const nowMs = performance.now();
    if (nowMs - sinceMs < WATCH_MS + HELD_UP_MS) return;
    this.#count.heldUp += 1;
    this.#excuses.begun(sinceMs - PATIENCE_MS, 'this process was held up').untilMs = nowMs;
  }

  #lost({ ip, sentMs, why }: Lost): void {
    const excuse = this.#excuses.why(sentMs, ip);
    if (excuse !== null) {
      this.#count.excused += 1;
      return;
    }
    this.#count.lost += 1;
    // One failure for all that a pod loses in a row.
    const again = sentMs - (this.#lostMs.get(ip) ?? Number.NEGATIVE_INFINITY) < IN_A_ROW_MS;
    this.#lostMs.set(ip, sentMs);
    if (again) return;
    const seconds = ((sentMs - this.#startMs) / 1_000).toFixed(1);
    this.#verdict.fail(`a ping of ${ip} at ${seconds} s was lost (${why}), and nothing was broken`);
  }

  /** Leases and rules are those of pods that live, nothing is kept for others, and the last thing that was broken has been repaired. */
  async #settle(): Promise<void> {
    await eventually(
      'what was broken is repaired',
      async () => {
        this.#count.routingFaults = this.#lab.refused().routingFault;
        return this.#excuses.isWhole(performance.now());
      },
      SETTLED_MS,
    );
    await eventually(
      'the leases are those of the pods that live',
      async () => {
        const { leases, pool } = await this.#runtime.report();
        const [held, living] = [leases.map(({ grant }) => grant.address.ipv4), [...this.#live.values()]];
        return pool?.counts.reserved === 0 && held.sort().join() === living.sort().join();
      },
      SETTLED_MS,
    );
    await eventually(
      'what dead pods left on the host is gone',
      async () => {
        const living = new Set(this.#live.values());
        return this.#mischief.ruled().every((ip) => living.has(ip));
      },
      SETTLED_MS,
    );
  }

  #progress(): void {
    const { adds, refused, dels, noDel } = this.#tally;
    const { kills, stops, flushes, renewals, excused } = this.#count;
    const mib = this.#daemonMib();
    if (mib !== null) this.#memory.push(mib);
    const secondary = this.#runtime.enis;
    const addresses = secondary.reduce((sum, eni) => sum + eni.ipv4.length, 0);
    this.#options.say(
      [
        `${clock(performance.now() - this.#startMs)} of ${clock(this.#options.durationMs)}`,
        `${this.#live.size} pods`,
        `ADD ${adds} (${refused} again)`,
        `DEL ${dels} (${noDel} never)`,
        `killed ${kills}, stopped ${stops}`,
        `flushed ${flushes}, agent ${renewals}`,
        `excused ${excused}`,
        `ENIs ${secondary.length}, addresses ${addresses}`,
        `daemon ${mib ?? '-'} MiB`,
        `failures ${this.#verdict.failures.length}`,
      ].join('  '),
    );
  }

  /** null while there is none. */
  #daemonMib(): number | null {
    const pid = this.#runtime.node.daemon?.pid ?? null;
    try {
      const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
      return kib === undefined || Number(kib) < STARTED_KIB ? null : Math.round(Number(kib) / 1_024);
    } catch {
      return null;
    }
  }

  #summary(seed: number): string {
    const { adds, refused, dels, noDel, pluginsKilled, beats } = this.#tally;
    const { kills, stops, flushes, renewals, excused, lost, heldUp, routingFaults, startMaxMs } = this.#count;
    const mutations = this.#runtime.mutations();
    const created = mutations.filter((line) => line.startsWith('CreateNetworkInterface')).length;
    return [
      `seed ${seed}, ${clock(performance.now() - this.#startMs)}`,
      `${adds} ADDs (${refused} refused and tried again), ${dels} DELs, ${noDel} pods without one, ${pluginsKilled} plugins killed`,
      `daemon killed ${kills} times and stopped ${stops} times, longest start ${Math.round(startMaxMs)} ms, at most ${Math.max(0, ...this.#memory)} MiB`,
      `${flushes} flushes, ${renewals} renewals by an agent, ${created} ENIs created, ${mutations.length} changing calls`,
      `${beats} pings of pods, ${excused} lost while something was broken and ${lost} without a reason, longest silence ${Math.round(this.#longestGapMs)} ms, ${routingFaults} packets refused meanwhile${heldUp === 0 ? '' : `, measuring held up ${heldUp} times`}`,
      `${this.#verdict.checks} comparisons of cloud, store and kernel, ${this.#verdict.failures.length} failures`,
    ].join('\n');
  }
}

function clock(ms: number): string {
  const seconds = Math.round(ms / 1_000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`;
}
