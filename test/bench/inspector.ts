/**
 * How the inspector's page keeps up with a node of 500 pods on which others come and go: frames of a real Chromium, by how long each one was on
 * the screen. The daemon is the real one, the cloud the lab's.
 */
import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BOX_VARIABLE } from '../../src/lab/box/box-command.ts';
import { INSTANCE_TYPES, type InstanceType } from '../../src/vpc/instance-types.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { call, type Machine, machine } from '../daemon/machine.ts';
import { Browser, chromium } from '../inspect/browser.ts';
import { type Bench, type Measurement, measurement, quantile } from './measurement.ts';

const PODS = 500;
/** Pods that come and go meanwhile, one after the other in each of so many places. */
const CHURNING = 4;
const PAUSE_MS = 100;
const DEFAULT_SECONDS = 10;
const FRAME_AIM_MS = 50;
const AT_ONCE = 20;
const BIG: InstanceType = {
  ...(INSTANCE_TYPES.find((one) => one.instanceType === 'ecs.g7.4xlarge') as InstanceType),
  ...{ instanceType: 'lab.big', enis: 20, enisInTotal: 20 },
};

/** The time between two frames, and how long the page's own work kept each waiting at most. */
const FRAMES = `new Promise((done) => {
  const frames = [];
  let last = performance.now();
  const end = last + SECONDS * 1000;
  const next = (now) => {
    frames.push(now - last);
    last = now;
    if (now < end) requestAnimationFrame(next);
    else done(frames.slice(1));
  };
  requestAnimationFrame(next);
})`;

async function add(here: Machine, pod: string): Promise<void> {
  const { status, body } = await call(here.paths.jsonSocket, 'AllocIP', pod);
  if (status !== 200) throw new Error(`AllocIP answered ${status}: ${JSON.stringify(body)}`);
}

async function run({ rounds, progress }: Parameters<Bench['run']>[0]): Promise<readonly Measurement[]> {
  const program = chromium();
  if (program === null) throw new Error('no chromium here (Debian: chromium-headless-shell)');
  process.env[BOX_VARIABLE] ??= 'root';
  const ends: (() => unknown)[] = [];
  const test = { teardown: (end: () => unknown) => void ends.unshift(end) } as unknown as Parameters<typeof machine>[0];
  const small = defaultTopology('lab.big', 1);
  const vSwitches = small.vSwitches.map((one, nth) => ({ ...one, cidr: `192.168.${nth * 8}.0/21` }));
  const topology = { ...small, vSwitches, instanceTypes: [BIG] };
  const here = await machine(test, { cool_down: '1s', min_pool_size: 5, max_pool_size: 20 }, { topology });
  try {
    for (let nth = 0; nth < PODS + CHURNING; nth += 1) here.addPod(`pod-${nth}`);
    const daemon = here.start();
    await daemon.serving();
    for (let nth = 0; nth < PODS; nth += AT_ONCE)
      await Promise.all(Array.from({ length: AT_ONCE }, (_, more) => add(here, `pod-${nth + more}`)));
    progress(`${PODS} pods`);
    const inspector = spawn(
      'node',
      [resolve(process.env.ENACTOR_DIST ?? 'dist', 'enactor.js'), 'inspect', '--debug-socket', here.paths.debugSocket],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    ends.unshift(() => inspector.kill('SIGKILL'));
    const link = await new Promise<string>((found) => {
      inspector.stdout.setEncoding('utf8').on('data', (text: string) => {
        const [first] = text.match(/http:\S+/) ?? [];
        if (first !== undefined) found(first);
      });
    });
    const browser = Browser.start(program);
    ends.unshift(() => browser.end());
    const tab = await browser.open(link);
    await tab.until('all pods are shown', `document.querySelectorAll('#enis .cell.bound').length >= ${PODS}`);
    await tab.click('#tree li[data-key="node/eniFactory/eni:0"]');
    const seconds = rounds ?? DEFAULT_SECONDS;
    let [going, pairs] = [true, 0];
    const churn = Array.from({ length: CHURNING }, async (_, nth) => {
      while (going) {
        await add(here, `pod-${PODS + nth}`);
        await sleep(PAUSE_MS);
        await call(here.paths.jsonSocket, 'ReleaseIP', `pod-${PODS + nth}`);
        await sleep(PAUSE_MS);
        pairs += 1;
      }
    });
    const frames = await tab.eval<number[]>(FRAMES.replace('SECONDS', String(seconds)));
    going = false;
    await Promise.all(churn);
    progress(`${frames.length} frames, ${pairs} pods came and went`);
    return [
      measurement('inspector', `frame with ${PODS} pods, median`, quantile(frames, 0.5), 'ms'),
      measurement('inspector', `frame with ${PODS} pods, p95`, quantile(frames, 0.95), 'ms', FRAME_AIM_MS),
      measurement('inspector', `frame with ${PODS} pods, longest`, Math.max(...frames), 'ms'),
    ];
  } finally {
    for (const end of ends) await end();
  }
}

export const inspectorBench: Bench = {
  name: 'inspector',
  summary: 'frames of the inspector’s page with 500 pods on the node, in a real Chromium',
  run,
};
