/**
 * P1: an agent of the guest puts the ENI's primary address, which is a pod's, and a default route of metric 100 on the device, and renews
 * both. They go, the agent is named, each thing is told once, and the fight does not spin.
 */
import '../lab/in-box.ts';

import { execFileSync } from 'node:child_process';
import t from 'tap';
import { call, machine } from '../daemon/machine.ts';

t.setTimeout(120_000);

/** Ten seconds of waiting are one second here. */
const RENEW_MS = 100;

const ip = (...args: string[]): string =>
  execFileSync('ip', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
const quietly = (...args: string[]): void => {
  try {
    ip(...args);
  } catch {
    // It is there already, or the device is not.
  }
};

t.test('P1: what a DHCP agent puts on an ENI goes, and the agent is named', async (t) => {
  const here = await machine(t, {
    kernel_gather: '20ms',
    repair_wait: '100ms',
    repair_wait_max: '5s',
    max_pool_size: 3,
  });
  here.addPod('p');
  const daemon = here.start();
  await daemon.serving();
  const answer = await call(here.paths.jsonSocket, 'AllocIP', 'p');
  t.match(answer, { status: 200 });
  const eni = (await daemon.report()).enis[0];
  const [primary] = eni?.addresses ?? [];
  const device = eni?.device ?? '';
  const on = (): string => ip('-4', '-o', 'addr', 'show', device) + ip('-4', 'route', 'show', 'dev', device);
  const clean = on();
  t.notMatch(clean, new RegExp(`${primary?.ipv4}/24|metric 100`));

  const lease = (): void => {
    quietly('addr', 'add', `${primary?.ipv4}/24`, 'dev', device, 'valid_lft', '600', 'preferred_lft', '600');
    quietly('route', 'add', 'default', 'via', '192.168.0.253', 'dev', device, 'proto', 'dhcp', 'metric', '100');
  };
  lease();
  await daemon.until(async () => on() === clean);

  const agent = setInterval(lease, RENEW_MS);
  t.teardown(() => clearInterval(agent));
  const things = async () => (await daemon.report()).host?.things ?? [];
  await daemon.until(async () => (await things()).filter(({ undone }) => undone >= 4).length === 2);
  clearInterval(agent);
  const found = await things();
  t.strictSame(found.map(({ kind }) => kind).sort(), ['foreignAddress', 'foreignRoute']);
  for (const { detail, times } of found) {
    t.match(detail, /a DHCP client or the like \(.*(lifetime|proto dhcp).*\)/);
    t.ok(times < 12, `${times} repairs`);
  }
  await daemon.until(async () => on() === clean);
  t.equal(on(), clean, 'and they go for good when the agent has ended');

  const lines = daemon.log.split('\n');
  for (const { object } of found) {
    const about = lines.filter((line) => line.includes(`"object":"${object}"`));
    t.equal(about.filter((line) => line.includes('"host repaired"')).length, 1, object);
    t.equal(about.filter((line) => line.includes('somebody undoes a repair')).length, 1, object);
  }
});
