import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type DevicePluginOptions, offerDevices } from '../../../src/adapters/device-plugin/device-plugin.ts';
import { silentLog } from '../../../src/adapters/logging/silent-log.ts';
import type { EniDevices } from '../../../src/core/eni-devices.ts';
import { until } from '../../lab/apiserver/client.ts';
import { KubeletDouble } from './kubelet-double.ts';

const ENDPOINT = 'enactor-eni.sock';

/** Sockets have short names: a directory of the fixtures is too deep. */
function short(t: Test): string {
  const made = mkdtempSync(join(tmpdir(), 'enactor-dp-'));
  t.teardown(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

function offered(t: Test, directory: string, more: Partial<DevicePluginOptions> = {}): () => Promise<void> {
  const stopping = new AbortController();
  const options = {
    ...{
      directory,
      resource: 'aliyun/eni',
      endpoint: ENDPOINT,
      prefix: 'eni-',
      count: () => ({ all: 3, usable: 3 }),
      log: silentLog,
    },
    ...{ pollMs: 50, patienceMs: 30_000, fraction: () => 0, ...more },
  };
  const running = offerDevices(options, stopping.signal);
  const stop = (): Promise<void> => {
    stopping.abort();
    return running;
  };
  t.teardown(stop);
  return stop;
}

async function kubelet(t: Test, directory: string, follows = true): Promise<KubeletDouble> {
  const made = await KubeletDouble.start(directory, follows);
  t.teardown(() => made.stop());
  return made;
}

t.test('device plugin: the kubelet is told, follows the list, and allocates what there is', async (t) => {
  const directory = join(short(t), 'd');
  const first = await kubelet(t, directory);
  let count: EniDevices | null = null;
  const stop = offered(t, directory, { count: () => count });
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.equal(first.registered.length, 0, 'nothing is said before it is known how many there are');
  count = { all: 3, usable: 3 };
  await until(() => first.lists === 1);
  t.strictSame(first.registered, [
    {
      ...{ version: 'v1beta1', endpoint: ENDPOINT, resource_name: 'aliyun/eni' },
      options: { pre_start_required: false, get_preferred_allocation_available: true },
    },
  ]);
  t.strictSame(first.devices, ['eni-0 Healthy', 'eni-1 Healthy', 'eni-2 Healthy']);
  t.match(await first.options(), { pre_start_required: false, get_preferred_allocation_available: true });
  t.match(await first.allocate(['eni-0'], ['eni-1', 'eni-2']), { container_responses: [{ envs: {} }, { envs: {} }] });
  await t.rejects(first.allocate(['eni-3']), { code: 5, details: /"eni-3"/ });
  t.same(await first.preStart(['eni-0']), {});
  count = { all: 3, usable: 2 };
  await until(() => first.lists === 2);
  t.strictSame(
    first.devices,
    ['eni-0 Unhealthy', 'eni-1 Healthy', 'eni-2 Healthy'], // given out first
    'a list that changes is told to who follows it, and what was given out stays in it',
  );
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.equal(first.lists, 2, 'and one that does not is not');
  t.equal(first.registered.length, 1);
  await stop();
  t.equal(existsSync(join(directory, ENDPOINT)), false, 'its socket went with it');
});

t.test('device plugin: as many pods are let in as there are ENIs for them, whoever has come and gone', async (t) => {
  const directory = join(short(t), 'd');
  const one = await kubelet(t, directory);
  let usable = 4;
  offered(t, directory, { count: () => ({ all: 4, usable }), pollMs: 20 });
  await until(() => one.lists === 1);
  const shown = async (count: number) => {
    usable = count;
    await until(() => one.devices.filter((told) => told.endsWith(' Healthy')).length === count);
  };
  for (const pod of ['a', 'b', 'c']) await one.admit(pod);
  await shown(3); // other pods share an ENI now
  t.equal(one.room, 0, 'three have one each, and there is none for a fourth');
  one.ended('a');
  t.equal(one.room, 1);
  t.not(await one.admit('d'), null);
  t.equal(await one.admit('e'), null);
  one.ended('b');
  await shown(2);
  t.equal(await one.admit('e'), null, 'two have one each');
  await shown(4);
  t.equal(one.room, 2);
  await one.admit('f');
  t.equal(one.room, 1);
});

t.test(
  'device plugin: it registers again when the kubelet has started anew, which empties the directory',
  async (t) => {
    const directory = join(short(t), 'd');
    const first = await kubelet(t, directory);
    offered(t, directory, { pollMs: 60_000 });
    await until(() => first.lists === 1);
    first.stop();
    const second = await kubelet(t, directory);
    await until(() => second.lists === 1);
    t.equal(second.devices.length, 3, 'by the watch of the directory: nobody has polled');
  },
);

t.test('device plugin: it waits for a kubelet that is late, refuses, or does not follow', async (t) => {
  const directory = join(short(t), 'not', 'yet');
  offered(t, directory, { patienceMs: 300 });
  await new Promise((resolve) => setTimeout(resolve, 100));
  const late = await kubelet(t, directory);
  late.refuses = true;
  await new Promise((resolve) => setTimeout(resolve, 700));
  t.equal(late.registered.length, 0);
  late.refuses = false;
  await until(() => late.lists >= 1);
  const lists = late.lists;
  late.forget();
  await until(() => late.lists > lists);
  t.ok(late.registered.length >= 2, 'a kubelet that has let go is told again');
});
