import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { type DevicePluginOptions, offerDevices } from '../../../src/adapters/device-plugin/device-plugin.ts';
import { silentLog } from '../../../src/adapters/logging/silent-log.ts';
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
    ...{ directory, resource: 'aliyun/eni', endpoint: ENDPOINT, prefix: 'eni-', count: () => 3, log: silentLog },
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
  let count: number | null = null;
  const stop = offered(t, directory, { count: () => count });
  await new Promise((resolve) => setTimeout(resolve, 100));
  t.equal(first.registered.length, 0, 'nothing is said before it is known how many there are');
  count = 3;
  await until(() => first.lists === 1);
  t.strictSame(first.registered, [
    {
      ...{ version: 'v1beta1', endpoint: ENDPOINT, resource_name: 'aliyun/eni' },
      options: { pre_start_required: false, get_preferred_allocation_available: false },
    },
  ]);
  t.strictSame(first.devices, ['eni-0 Healthy', 'eni-1 Healthy', 'eni-2 Healthy']);
  t.match(await first.options(), { pre_start_required: false, get_preferred_allocation_available: false });
  t.match(await first.allocate(['eni-0'], ['eni-1', 'eni-2']), { container_responses: [{ envs: {} }, { envs: {} }] });
  await t.rejects(first.allocate(['eni-3']), { code: 5, details: /"eni-3"/ });
  t.same(await first.preStart(['eni-0']), {});
  count = 2;
  await until(() => first.lists === 2);
  t.equal(first.devices.length, 2, 'a list that changes is told to who follows it');
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.equal(first.lists, 2, 'and one that does not is not');
  t.equal(first.registered.length, 1);
  await stop();
  t.equal(existsSync(join(directory, ENDPOINT)), false, 'its socket went with it');
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
