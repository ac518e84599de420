/**
 * P8, the kernel's part of it: devices of ENIs come back renamed, reordered and empty, under a daemon that runs and one that starts. Each
 * ENI has its route over whatever device has its MAC, in the old table where pods have rules to it.
 */
import '../lab/in-box.ts';

import { execFileSync } from 'node:child_process';
import t from 'tap';
import { call, type DaemonRun, machine } from '../daemon/machine.ts';

t.setTimeout(120_000);

const ip = (...args: string[]): string => execFileSync('ip', args, { encoding: 'utf8' });

t.test('P8: devices that come back with other names in another order carry the same tables', async (t) => {
  const here = await machine(t, { kernel_gather: '20ms', max_eni: 2, min_eni: 2, max_pool_size: 40 });
  here.addPod('p');
  const first = here.start();
  await first.serving();
  t.match(await call(here.paths.jsonSocket, 'AllocIP', 'p'), { status: 200 });
  await first.until(async () => (await first.report()).enis.filter((eni) => eni.device !== null).length === 2);
  const holder = (await first.report()).enis.find((eni) => eni.addresses.some(({ pod }) => pod === 'default/p'))?.mac;
  const enis = (await first.report()).enis.map(({ mac, routeTable, device }) => ({ mac, routeTable, device }));

  /** All are unplugged at once, and plugged in again in the opposite order under new names. */
  const replug = (prefix: string): void => {
    for (const { mac } of enis) ip('link', 'del', deviceOf(mac ?? ''));
    enis.reverse();
    for (const [at, { mac }] of enis.entries()) {
      ip('link', 'add', `${prefix}${at}`, 'address', mac ?? '', 'type', 'veth', 'peer', 'name', `${prefix}${at}p`);
      ip('link', 'set', `${prefix}${at}p`, 'up');
    }
  };
  const whole = (): boolean =>
    enis.every(({ mac, routeTable }) => {
      const device = deviceOf(mac ?? '');
      const route = ip('route', 'show', 'table', 'all')
        .split('\n')
        .find((line) => line.includes(`table ${routeTable} `));
      return (
        route?.includes(`default via`) === true &&
        route.includes(`dev ${device} `) &&
        ip('link', 'show', device).includes(',UP')
      );
    });
  t.ok(whole(), JSON.stringify(enis) + ip('-o', 'link') + ip('route', 'show', 'table', 'all'));
  replug('eniq');
  // It may be whole again by now.
  await first.until(async () => whole());
  const repaired = (await first.report()).host;
  // By the keeper, or by the ENI itself where a look fell into the moment without a device.
  const gone = first.log.split('the device of an ENI is gone').length - 1;
  t.ok((repaired?.repairs ?? 0) + 2 * gone >= 4, `${repaired?.repairs} repairs, ${gone} devices gone`);

  await first.kill();
  replug('enir');
  const second: DaemonRun = here.start();
  await second.serving();
  await second.until(async () => (await second.report()).enis.filter((eni) => eni.device !== null).length === 2);
  const held = enis.find(({ mac }) => mac === holder);
  const again = (await second.report()).enis;
  t.equal(again.find((eni) => eni.mac === holder)?.routeTable, held?.routeTable, 'the table that a pod has rules to');
  enis.splice(0, enis.length, ...again.map(({ mac, routeTable, device }) => ({ mac, routeTable, device })));
  t.ok(whole(), ip('route', 'show', 'table', 'all'));
  t.match(await call(here.paths.jsonSocket, 'GetIPInfo', 'p'), { status: 200, body: { NetConfs: [{}] } });
});

function deviceOf(mac: string): string {
  const line = ip('-o', 'link')
    .split('\n')
    .find((each) => each.includes(`link/ether ${mac} `));
  return /^\d+: ([^@:]+)/.exec(line ?? '')?.[1] ?? '';
}
