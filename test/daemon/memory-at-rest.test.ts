import { closeSync, openSync } from 'node:fs';
import t from 'tap';
import { MemoryAtRest, type Resting, thisProcess } from '../../src/daemon/memory-at-rest.ts';

const MB = 1e6;
const log = { debug() {}, info() {}, warn() {}, error() {} };

/** A process whose state is set by hand; a collection takes it down to `floorMb` and costs 100 ms. */
function aProcess() {
  const state = { nowMs: 0, busy: 0, mb: 130, floorMb: 90, collected: 0, broken: false };
  const process: Resting = {
    nowMs: () => state.nowMs,
    busy: () => state.busy,
    residentBytes: () => state.mb * MB,
    collect: async () => {
      if (state.broken) throw new Error('no inspector');
      state.collected += 1;
      state.mb = state.floorMb;
      return 100;
    },
  };
  const atRest = new MemoryAtRest(process, log);
  const looks = async (count: number): Promise<number> => {
    for (let nth = 0; nth < count; nth += 1) {
      state.nowMs += 1_000;
      await atRest.look();
    }
    return state.collected;
  };
  return { state, looks };
}

t.test('memory at rest: what a start has left is given back after three quiet seconds, and not again', async (t) => {
  const { looks } = aProcess();
  t.equal(await looks(2), 0);
  t.equal(await looks(1), 1);
  t.equal(await looks(600), 1, 'nothing has grown since');
});

t.test('memory at rest: a busy node is left alone, and a single busy second begins the rest anew', async (t) => {
  const { state, looks } = aProcess();
  state.busy = 0.06;
  t.equal(await looks(60), 0);
  state.busy = 0.05;
  await looks(2);
  state.busy = 0.5;
  await looks(1);
  state.busy = 0;
  t.equal(await looks(2), 0);
  t.equal(await looks(1), 1);
});

t.test('memory at rest: only a growth of 16 MiB is worth it, counted from the least that was resident', async (t) => {
  const { state, looks } = aProcess();
  await looks(3);
  state.mb = 106;
  t.equal(await looks(60), 1, '16 MB are a little less');
  state.mb = 80; // by V8 itself
  await looks(1);
  state.mb = 97;
  t.equal(await looks(1), 2);
});

t.test('memory at rest: it costs at most a hundredth of the time', async (t) => {
  const { state, looks } = aProcess();
  await looks(3);
  state.mb = 150;
  t.equal(await looks(9), 1, 'the first took 100 ms');
  t.equal(await looks(1), 2, 'ten seconds later');
});

t.test('memory at rest: what does not become less is not tried again, nor is what cannot be done', async (t) => {
  const grown = aProcess();
  grown.state.floorMb = 130;
  t.equal(await grown.looks(600), 1);
  const broken = aProcess();
  broken.state.broken = true;
  await broken.looks(3);
  broken.state.broken = false;
  t.equal(await broken.looks(600), 0);
});

t.test('memory at rest: this process becomes smaller by what nothing holds any more', async (t) => {
  const here = thisProcess();
  let held: object[] | null = Array.from({ length: 600_000 }, (_, nth) => ({ nth }));
  t.ok(here.busy() > 0.05, 'a process that works is busy');
  const before = process.memoryUsage().heapTotal;
  t.equal(held.length, 600_000);
  held = null;
  const cpuMs = await here.collect();
  const { heapTotal } = process.memoryUsage();
  t.ok(cpuMs > 0 && cpuMs < 60_000, `${cpuMs} ms`);
  t.ok(before - heapTotal > 20 * MB, `the heap is ${before - heapTotal} bytes smaller, of ${before}`);
  t.ok(await here.collect(), 'and again');
});

t.test('memory at rest: a process that can open no file any more does not end for it', async (t) => {
  const { residentBytes } = thisProcess();
  t.match(residentBytes(), Number);
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch (error) {
    t.match(error, { code: 'EMFILE' });
    t.equal(residentBytes(), null);
  } finally {
    for (const fd of taken) closeSync(fd);
  }
});
