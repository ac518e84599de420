/**
 * `npm run fuzz -- --minutes 60 [--target cni-args] [--seed 7]`: every decoder in turns, coverage-guided. Inputs that reach new code are added to
 * test/fuzz/corpus; findings are written to .tap/fuzz and end the run with exit code 1. An input that never comes back is found by a thread
 * that watches, written too, and ends the process.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import v8 from 'node:v8';
import vm from 'node:vm';
import { Worker } from 'node:worker_threads';
import { corpusOf, keep } from './corpus.ts';
import { Coverage } from './coverage.ts';
import { fuzz } from './fuzz.ts';
import { randomFrom } from './mutate.ts';
import { targets } from './targets.ts';

const TURN_MS = 5_000;
const HUNG_MS = 20_000;
const LEAK_BYTES = 64 * 1024 * 1024;
const OUT = '.tap/fuzz';
const SHARED_BYTES = 65_536;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    target: { type: 'string' },
    seed: { type: 'string', default: `${Date.now() % 1e9}` },
  },
});
const chosen = targets.filter(({ name }) => values.target === undefined || name === values.target);
if (chosen.length === 0) throw new Error(`--target is one of ${targets.map(({ name }) => name).join(', ')}`);
mkdirSync(OUT, { recursive: true });

/** [how many inputs, length of the present one], then its bytes. */
const shared = new SharedArrayBuffer(8 + SHARED_BYTES);
const [counters, bytes] = [new Int32Array(shared, 0, 2), new Uint8Array(shared, 8)];
const watch = (data: Buffer): void => {
  bytes.set(data.subarray(0, SHARED_BYTES));
  Atomics.store(counters, 1, Math.min(data.length, SHARED_BYTES));
  Atomics.add(counters, 0, 1);
};
const watcher = new Worker(
  `const { workerData: { shared, hungMs, out } } = require('node:worker_threads');
   const counters = new Int32Array(shared, 0, 2); let last = -1;
   setInterval(() => {
     const now = Atomics.load(counters, 0);
     if (now !== last) { last = now; return; }
     require('node:fs').writeFileSync(out + '/hung', Buffer.from(new Uint8Array(shared, 8, counters[1])));
     require('node:fs').writeSync(2, 'HUNG: one input takes longer than ' + hungMs + ' ms; it is in ' + out + '/hung\\n');
     process.kill(process.pid, 'SIGKILL');
   }, hungMs);`,
  { eval: true, workerData: { shared, hungMs: HUNG_MS, out: OUT } },
);
watcher.unref();

v8.setFlagsFromString('--expose-gc');
const gc = vm.runInNewContext('gc') as () => void;
const heapBytes = (): number => {
  gc();
  return process.memoryUsage().heapUsed;
};

const coverage = new Coverage();
const random = randomFrom(Number(values.seed));
const untilMs = performance.now() + Number(values.minutes) * 60_000;
const told = new Map(chosen.map(({ name }) => [name, { inputs: 0, added: 0, findings: 0 }]));
let settledBytes: number | null = null;
console.log(`seed ${values.seed}; ${chosen.length} targets for ${values.minutes} min`);
while (performance.now() < untilMs) {
  for (const target of chosen) {
    const turnMs = Math.min(
      untilMs,
      performance.now() + Math.min(TURN_MS, (Number(values.minutes) * 60_000) / chosen.length),
    );
    const { inputs, findings, found } = await fuzz(target, corpusOf(target.name), {
      random,
      untilMs: turnMs,
      coverage,
      watch,
    });
    keep(target.name, found);
    for (const { what, data } of findings) {
      const path = `${OUT}/${target.name}-${told.get(target.name)?.findings ?? 0}`;
      writeFileSync(path, data);
      console.log(`FOUND ${target.name}: ${what}\n  the input is in ${path}`);
      const one = told.get(target.name);
      if (one) one.findings += 1;
    }
    const one = told.get(target.name);
    if (one) Object.assign(one, { inputs: one.inputs + inputs, added: one.added + found.length });
  }
  settledBytes ??= heapBytes(); // after each was read once
}
const grownBytes = heapBytes() - (settledBytes ?? heapBytes());
coverage.close();
console.table(Object.fromEntries(told));
const [inputs, findings] = (['inputs', 'findings'] as const).map((key) =>
  [...told.values()].reduce((sum, one) => sum + one[key], 0),
);
console.log(
  `${inputs} inputs, ${coverage.blocks} blocks of our code reached, heap grown by ${(grownBytes / 1e6).toFixed(1)} MB, ${findings} findings`,
);
if (grownBytes > LEAK_BYTES) console.log('FOUND: a leak');
process.exit(findings === 0 && grownBytes <= LEAK_BYTES ? 0 : 1);
