/**
 * The part of bench charts that runs under Node: events a second through an ENI actor of the product, and through a bare actor of two states.
 *
 * The ENI holds thirty addresses, all with pods. `unreported` events change what it knows and tell nobody; `reported` ones are a pod's going and
 * another's coming (freed, assign, bind: each changes the book, and the factory hears of it). Its parent is as small as can be, so that the
 * factory's own work does not count; the ENI's steps are as light as the daemon's are (actors/node.ts). Sides take turns; what it prints are events a second by round.
 */
import { createActor, createMachine, fromPromise, setup } from 'xstate';
import { lightSteps } from '../../actors/light-steps.ts';
import { eniTimesOf } from '../../src/core/eni-times.ts';
import { defaultSettings } from '../../src/core/settings.ts';
import type { EniDevice } from '../../src/ports/kernel.ts';
import type { At } from '../../statecharts/at.ts';
import { type EniRef, eniMachine } from '../../statecharts/eni.ts';
import type { EniInput } from '../../statecharts/eni-context.ts';
import type { EniEvent } from '../../statecharts/messages.ts';

export type ChartsLoad = { readonly rounds: number; readonly warmUp: number; readonly events: number };
export const KINDS = ['bare', 'unreported', 'reported'] as const;
export type Kind = (typeof KINDS)[number];
export type ChartsAnswer = Record<Kind, number[]>;

const ADDRESSES = 30;
const NOW_MS = 1_700_000_000_000;
const load = JSON.parse(process.argv[2] ?? '') as ChartsLoad;

const toggle = createMachine({ initial: 'one', states: { one: { on: { go: 'two' } }, two: { on: { go: 'one' } } } });

const ips = Array.from({ length: ADDRESSES }, (_, nth) => `10.0.0.${nth + 1}`);
const times = eniTimesOf({ ...defaultSettings, nodeName: 'bench' });
const input: EniInput = {
  slot: 0,
  limit: ADDRESSES,
  dual: false,
  vSwitchId: 'vsw-1',
  subnet: { cidr: '10.0.0.0/24', gateway: '10.0.0.253', ipv6Cidr: null, ipv6Gateway: null },
  mtu: 1500,
  ours: true,
  token: 'bench',
  times,
  nowMs: NOW_MS,
  ipv4Count: 0,
  existing: {
    ...{
      eniId: 'eni-1',
      mac: '02:00:00:00:00:01',
      status: 'InUse',
      type: 'Secondary',
      vpcId: 'vpc-1',
      vSwitchId: 'vsw-1',
    },
    ...{ zoneId: 'z', ipv4: ips, ipv6: [], securityGroupIds: ['sg-1'], tags: {}, instanceId: 'i-1' },
  },
  held: new Map(ips.map((ip, nth) => [ip, { sandbox: `box-${nth}/eth0` as never, pod: `default/pod-${nth}` }])),
  coolUntilMs: new Map(),
  routeTable: 1001,
};

const device: EniDevice = { ifindex: 7, name: 'eth1', routeTable: 1001 };
const eni = lightSteps(
  eniMachine.provide({
    actors: { setUpEni: fromPromise(async (): Promise<At<EniDevice>> => ({ atMs: NOW_MS, value: device })) },
  }),
);
const parent = createActor(
  setup({ actors: { eni } }).createMachine({
    context: ({ spawn }) => ({ eni: spawn('eni', { id: 'eni:0', input }) }),
    on: { eniChanged: {}, ipResult: {} },
  }),
).start();
const ref: EniRef = parent.getSnapshot().context.eni;
while (!ref.getSnapshot().matches({ inUse: 'resting' })) await new Promise((resolve) => setImmediate(resolve));
const bare = createActor(toggle).start();

/** Told as the factory tells: nothing here is made for the bench but the order. */
const told: EniEvent = { type: 'settings', times, atMs: NOW_MS };
let pods = 0;
function comesAndGoes(): void {
  pods += 1;
  const ipv4 = ips[pods % ADDRESSES] ?? '';
  const requestId = `request-${pods}`;
  ref.send({ type: 'freed', ipv4, coolUntilMs: NOW_MS, reservedUntilMs: null, atMs: NOW_MS });
  ref.send({
    type: 'assign',
    requestId,
    sandbox: `box-${pods}/eth0`,
    pod: `default/pod-${pods}`,
    alsoCooling: false,
    atMs: NOW_MS,
  });
  ref.send({ type: 'bind', requestId, atMs: NOW_MS });
}

const work: Record<Kind, (events: number) => void> = {
  bare: (events) => {
    for (let nth = 0; nth < events; nth += 1) bare.send({ type: 'go' });
  },
  unreported: (events) => {
    for (let nth = 0; nth < events; nth += 1) ref.send(told);
  },
  reported: (events) => {
    for (let nth = 0; nth < events; nth += 3) comesAndGoes();
  },
};

/** Time of the processor, not of the clock: what others do meanwhile counts for neither side. */
function processorMs(run: () => void): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

const answer: ChartsAnswer = { bare: [], unreported: [], reported: [] };
for (let round = 0; round < load.warmUp + load.rounds; round += 1) {
  for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed()) {
    const ms = processorMs(() => work[kind](load.events));
    if (round >= load.warmUp) answer[kind].push((1_000 * load.events) / ms);
  }
}
const { book } = ref.getSnapshot().context;
if (book.length !== ADDRESSES || book.some((entry) => entry.state !== 'bound'))
  throw new Error('the ENI did not do what it was told');
process.stdout.write(`${JSON.stringify(answer)}\n`);
process.exit(0);
