/**
 * The caller of bench alloc-warm, under Node and in a process of its own: so many requests, of which so many are always under way.
 *
 * Each round asks for an address for every pod over gRPC, gives all back (not timed), makes as many calls that do nothing on the same server
 * and connection, asks once more over JSON as the plugin does, a connection each, and without the pod's uid, which Terway's plugin does not name: then
 * the daemon asks the API server for it. What it prints last are samples a round.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { type Client, credentials, makeClientConstructor, type ServiceError } from '@grpc/grpc-js';
import { backendService } from '../../src/adapters/grpc/service.ts';

export type AllocLoad = {
  /** Of the daemon, whose processor time is read. */
  readonly pid: number;
  readonly grpcSocket: string;
  readonly jsonSocket: string;
  /** `pod-0` and so on. */
  readonly uids: readonly string[];
  readonly atOnce: readonly number[];
  readonly warmUp: number;
  readonly rounds: number;
};
export const WAYS = ['alloc', 'noop', 'json', 'nameless'] as const;
export type Way = (typeof WAYS)[number];
/** Of one way at one number at once: each round's calls a second, how long each call of all rounds took, and the daemon's processor time a call. */
export type LoadSamples = { readonly perSecond: number[]; readonly ms: number[]; readonly busyUs: number[] };
type Timed = { readonly ms: number; readonly each: readonly number[]; readonly busyUs: number };
export type AllocLoadAnswer = { readonly atOnce: number; readonly of: Record<Way, LoadSamples> }[];

type Done = (error: ServiceError | null, reply: unknown) => void;
type Stub = Client & Record<'AllocIP' | 'ReleaseIP' | 'GetIPInfo', (request: object, done: Done) => void>;

const load = JSON.parse(process.argv[2] ?? '') as AllocLoad;
const Service = makeClientConstructor(backendService(), 'TerwayBackend');
const stub = new Service(`unix:${load.grpcSocket}`, credentials.createInsecure(), {
  'grpc.default_authority': 'localhost',
}) as unknown as Stub;

const named = (pod: number, sandbox: string) => ({
  K8sPodName: `pod-${pod}`,
  K8sPodNamespace: 'default',
  K8sPodInfraContainerId: sandbox,
  IfName: 'eth0',
});

const overGrpc = (method: 'AllocIP' | 'ReleaseIP' | 'GetIPInfo', body: object): Promise<void> =>
  new Promise((resolve, reject) => stub[method](body, (error) => (error === null ? resolve() : reject(error))));

const overJson = (method: string, body: object): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const call = request(
      { socketPath: load.jsonSocket, path: `/rpc.TerwayBackend/${method}`, method: 'POST', headers, agent: false },
      (response) => {
        response.resume();
        response.on('end', () =>
          response.statusCode === 200 ? resolve() : reject(new Error(`${method} answered ${response.statusCode}`)),
        );
      },
    );
    call.on('error', reject);
    call.end(JSON.stringify(body));
  });

/** What the daemon's threads have run for so far. Source: Linux Documentation/scheduler/sched-stats.rst, /proc/<pid>/schedstat, first field, ns. */
function busyNs(): number {
  const tasks = `/proc/${load.pid}/task`;
  return readdirSync(tasks)
    .map((task) => Number(readFileSync(`${tasks}/${task}/schedstat`, 'utf8').split(' ')[0]))
    .reduce((sum, ns) => sum + ns, 0);
}

/** How long all took, and each, and what of the processor the daemon took for one. */
async function timed(atOnce: number, one: (nth: number) => Promise<void>): Promise<Timed> {
  const each: number[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let nth = next++; nth < load.uids.length; nth = next++) {
      const startMs = performance.now();
      await one(nth);
      each.push(performance.now() - startMs);
    }
  };
  const before = busyNs();
  const startMs = performance.now();
  await Promise.all(Array.from({ length: atOnce }, worker));
  return { ms: performance.now() - startMs, each, busyUs: (busyNs() - before) / 1_000 / load.uids.length };
}

let made = 0;
const netns = { Netns: '/proc/self/ns/net' };

async function round(atOnce: number): Promise<Record<Way, Timed>> {
  const rounds = {} as Record<Way, Timed>;
  const order = made % 2 === 0 ? WAYS : WAYS.toReversed();
  for (const way of order) {
    made += 1;
    const sandbox = (nth: number): string => `bench-${made}-${nth}`;
    if (way === 'noop') rounds.noop = await timed(atOnce, (nth) => overGrpc('GetIPInfo', named(nth, 'nobody')));
    else {
      const ask = way === 'json' ? overJson : overGrpc;
      const uid = (nth: number) => (way === 'nameless' ? {} : { PodUid: load.uids[nth] });
      rounds[way] = await timed(atOnce, (nth) =>
        ask('AllocIP', { ...named(nth, sandbox(nth)), ...uid(nth), ...netns }),
      );
      await timed(16, (nth) => overGrpc('ReleaseIP', named(nth, sandbox(nth))));
    }
  }
  return rounds;
}

const answer: AllocLoadAnswer = [];
for (let nth = 0; nth < load.warmUp; nth += 1) await round(16);
for (const atOnce of load.atOnce) {
  const none = (): LoadSamples => ({ perSecond: [], ms: [], busyUs: [] });
  const of: Record<Way, LoadSamples> = { alloc: none(), noop: none(), json: none(), nameless: none() };
  for (let nth = 0; nth < load.rounds; nth += 1) {
    const measured = await round(atOnce);
    for (const way of WAYS) {
      of[way].perSecond.push((1_000 * load.uids.length) / measured[way].ms);
      of[way].ms.push(...measured[way].each);
      of[way].busyUs.push(measured[way].busyUs);
    }
  }
  answer.push({ atOnce, of });
}
stub.close();
// A pipe takes 64 KiB at once: the rest is lost to whoever exits before it has gone.
process.stdout.write(`${JSON.stringify(answer)}\n`, () => process.exit(0));
