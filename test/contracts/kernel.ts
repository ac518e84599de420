/** What port Kernel promises, run against the real adapter in a network namespace and against its fake. */
import type { Test, TestBase } from 'tap';
import { repairKey } from '../../src/core/repair-ledger.ts';
import type { EniDeviceWanted, Kernel } from '../../src/ports/kernel.ts';

export type HostUnderTest = {
  /** A kernel port as a daemon that has just started has it, over the same host at each call. */
  readonly newKernel: () => Kernel;
  /** Its interface index. */
  readonly plug: (mac: string) => Promise<number>;
  /** Somebody empties the ENI's table. */
  readonly spoil: (mac: string, routeTable: number) => void;
  /** Runs a call where the host is. */
  readonly on: <T>(call: () => T) => T;
};

const never = new AbortController().signal;
const nothing = { pods: [], claimed: new Set<string>(), dead: [], heldOff: new Set<string>(), thorough: true };
const MACS = ['00:16:3e:00:00:07', '00:16:3e:00:00:08'] as const;

function wanted(mac: string, routeTable: number | null = null): EniDeviceWanted {
  const subnet = { cidr: '192.168.0.0/24', gateway: '192.168.0.253', ipv6Cidr: null, ipv6Gateway: null };
  return { mac, subnet, nodeIp: '10.0.0.5', mtu: 1_400, routeTable };
}

export function kernelContract(
  t: TestBase & Pick<Test, 'test'>,
  name: string,
  newHost: (t: Test) => Promise<HostUnderTest>,
  skip: string | false = false,
): void {
  const [first, second] = MACS;

  t.test(`${name}: a device is set up, and again the same, also by a daemon that started anew`, { skip }, async (t) => {
    const { newKernel, plug, on } = await newHost(t);
    const ifindex = await plug(first);
    const kernel = newKernel();
    const device = await on(() => kernel.setUpEni(wanted(first), never));
    t.match(device, { ifindex, routeTable: 1_000 + ifindex });
    t.match(device.name, /^\S+$/);
    t.strictSame(await on(() => kernel.setUpEni(wanted(first.toUpperCase()), never)), device, 'a MAC has no case');
    t.strictSame(await on(() => newKernel().setUpEni(wanted(first, device.routeTable), never)), device);
  });

  t.test(`${name}: two ENIs have two tables, also when set up at once`, { skip }, async (t) => {
    const { newKernel, plug, on } = await newHost(t);
    await plug(first);
    await plug(second);
    const kernel = newKernel();
    const both = await Promise.all([
      on(() => kernel.setUpEni(wanted(first), never)),
      on(() => kernel.setUpEni(wanted(second), never)),
    ]);
    t.equal(new Set(both.map((device) => device.routeTable)).size, 2);
    t.equal(new Set(both.map((device) => device.ifindex)).size, 2);
  });

  t.test(`${name}: the table of an earlier life is kept when nobody else has it`, { skip }, async (t) => {
    const { newKernel, plug, on } = await newHost(t);
    await plug(first);
    await plug(second);
    const kernel = newKernel();
    const one = await on(() => kernel.setUpEni(wanted(first, 1_500), never));
    t.equal(one.routeTable, 1_500);
    const two = await on(() => kernel.setUpEni(wanted(second, 1_500), never));
    t.not(two.routeTable, 1_500);
  });

  t.test(`${name}: a device that comes later is waited for, and a signal ends the wait`, { skip }, async (t) => {
    const { newKernel, plug, on } = await newHost(t);
    const kernel = newKernel();
    const stopping = new AbortController();
    const given = on(() => kernel.setUpEni(wanted(second), stopping.signal));
    const waiting = on(() => kernel.setUpEni(wanted(first), never));
    const ifindex = await plug(first);
    t.match(await waiting, { ifindex });
    stopping.abort();
    await t.rejects(given, { name: 'AbortError' });
    await t.rejects(
      on(() => kernel.setUpEni(wanted(second), AbortSignal.abort())),
      { name: 'AbortError' },
    );
  });

  t.test(`${name}: a tear-down frees the table, and is no error twice or for what never was`, { skip }, async (t) => {
    const { newKernel, plug, on } = await newHost(t);
    await plug(first);
    await plug(second);
    const kernel = newKernel();
    const { routeTable } = await on(() => kernel.setUpEni(wanted(first), never));
    await on(() => kernel.tearDownEni({ mac: first, routeTable }));
    await on(() => kernel.tearDownEni({ mac: first, routeTable }));
    const other = await on(() => kernel.setUpEni(wanted(second, routeTable), never));
    t.equal(other.routeTable, routeTable, 'somebody else may have it now');
    await t.rejects(
      on(() => kernel.tearDownEni({ mac: first, routeTable: 254 })),
      { code: 'device' },
    );
  });

  t.test(`${name}: what somebody takes away is told, and made again by the next look`, { skip }, async (t) => {
    const { newKernel, plug, spoil, on } = await newHost(t);
    await plug(first);
    const kernel = newKernel();
    const { routeTable } = await on(() => kernel.setUpEni(wanted(first), never));
    const enis = [{ ...wanted(first), routeTable, ips: ['192.168.0.9'], freeIps: ['192.168.0.9'] }];
    const keep = (heldOff: readonly string[] = []) =>
      on(() => kernel.keep({ ...nothing, enis, heldOff: new Set(heldOff) }));
    const whole = { drifts: [], whole: [], begun: [], unclaimed: [] };
    t.strictSame(await keep(), whole);

    let told = 0;
    const stop = on(() =>
      kernel.watch(() => {
        told += 1;
      }),
    );
    spoil(first, routeTable);
    for (let tries = 0; told === 0 && tries < 400; tries += 1) await new Promise((resolve) => setTimeout(resolve, 5));
    t.ok(told > 0, 'the change was told');
    stop();
    stop();
    const { drifts } = await keep();
    t.match(drifts, [{ kind: 'eniRoute', outcome: 'repaired' }]);
    t.strictSame(await keep(), whole);

    spoil(first, routeTable);
    const [drift] = drifts;
    t.match((await keep(drift === undefined ? [] : [repairKey(drift)])).drifts, [{ ...drift, outcome: 'heldOff' }]);
    t.match((await keep()).drifts, [{ ...drift, outcome: 'repaired' }]);
    const gone = [{ ...wanted(second), routeTable: 1_999, ips: [], freeIps: [] }];
    const beyond = await on(() => kernel.keep({ ...nothing, enis: gone }));
    t.match(beyond.drifts, [{ kind: 'eniDevice', outcome: 'beyondRepair' }]);
    t.equal(await on(() => kernel.forgetConnections(['192.168.0.9', 'fd00::9'])), 0, 'nothing was tracked');
  });
}
