import { join } from 'node:path';
import t, { type Test } from 'tap';
import { grpcServer } from '../../../src/adapters/grpc/grpc-server.ts';
import { tracingService } from '../../../src/adapters/grpc/service.ts';
import { tracingOver } from '../../../src/adapters/grpc/tracing.ts';
import { TracingClient } from '../../../src/adapters/grpc/tracing-client.ts';
import { bindUnixSocket } from '../../../src/adapters/http/unix-socket.ts';
import { silentLog } from '../../../src/adapters/logging/silent-log.ts';
import type { EniReport, NodeReport } from '../../../src/ports/introspection.ts';
import { leaseOf } from '../../daemon/lease-of.ts';
import { fakeBackend } from '../http/fake-backend.ts';
import { shortDirectory } from '../http/short-directory.ts';

const address = (ipv4: string, state: EniReport['addresses'][number]['state'], pod: string | null = null) => {
  return { ipv4, ipv6: null, state, pod, untilMs: null };
};
const eni: EniReport = {
  ...{ actor: 'eni:0', state: 'inUse.resting.quiet', sinceMs: 0, eniId: 'eni-1', mac: '00:16:3e:00:00:01' },
  ...{ vSwitchId: 'vsw-1', device: 'eth1', routeTable: 1004, waiting: 2, lastFailure: null },
  addresses: [
    address('192.168.0.10', 'idle'),
    address('192.168.0.12', 'bound', 'default/p'),
    address('192.168.0.9', 'invalid', 'default/q'),
    address('192.168.0.11', 'leaving'),
  ],
};
const pool = {
  ...{ state: 'resting', minIdle: 1, maxIdle: 3, why: '', capacity: 12 },
  counts: { idle: 1, offered: 0, bound: 1, cooling: 0, reserved: 0, leaving: 1, invalid: 1 },
};
const report: NodeReport = {
  ...{ state: 'running.serving', missing: [], enis: [eni], pool, leases: [leaseOf('p')], actors: [] },
  waiting: [{ requestId: 'r', pod: 'default/w', sinceMs: 0, reason: 'addresses are under way' }],
  limits: { enis: 4, ipsPerEni: 6 },
};

const parts = { configPath: '/etc/eni/eni_conf', kubeconfig: '/etc/kube' };

async function serve(t: Test, source: () => NodeReport | null = () => report): Promise<TracingClient> {
  const path = join(shortDirectory(t), 's');
  const { backend } = fakeBackend(() => ({}));
  const server = grpcServer(backend, silentLog, tracingOver({ ...parts, report: source }));
  const bound = await bindUnixSocket(server.listener, path);
  const client = new TracingClient(path, 10_000);
  t.teardown(() => {
    client.close();
    bound.close();
    server.destroy();
  });
  return client;
}

const valuesOf = (entries: readonly { Key: string; Value: string }[]) =>
  Object.fromEntries(entries.map(({ Key, Value }) => [Key, Value]));

t.test('tracing: types, names, configuration and state are told with Terway’s keys', async (t) => {
  const client = await serve(t);
  t.strictSame(await client.types(), ['network_service', 'resource_pool', 'factory']);
  t.strictSame(await client.names('network_service'), ['default']);
  t.strictSame(await client.names('toString'), [], 'an unknown type has no names, and is no error');
  t.strictSame(valuesOf(await client.config('network_service', 'default')), {
    ...{ name: 'default', daemon_mode: 'ENIMultiIP', config_file_path: '/etc/eni/eni_conf' },
    ...{ kubeconfig: '/etc/kube', master: '' },
  });
  const [lease] = report.leases;
  const id = `${lease?.grant.eni.mac}.${lease?.grant.address.ipv4}`;
  t.strictSame(valuesOf(await client.trace('network_service', 'default')), {
    ...{ pending_pods_count: '3', 'pods/default/p/resources': `(eniIp)${id}` },
  });
  t.strictSame(valuesOf(await client.config('resource_pool', 'eniip')), {
    ...{ name: 'eniip', max_idle: '3', min_idle: '1', capacity: '12' },
  });
  t.strictSame(valuesOf(await client.config('factory', 'eniip')), { name: 'eniip', eni_max_ip: '6' });
  t.strictSame(valuesOf(await client.trace('factory', 'eniip')), {
    ...{ eni_count: '1', secondary_ip_count: '4', 'eni/00:16:3e:00:00:01/pending': '2' },
    'eni/00:16:3e:00:00:01/secondary_ips': '192.168.0.10, 192.168.0.12, 192.168.0.9, 192.168.0.11',
    'eni/00:16:3e:00:00:01/ip_alloc_inhibit_expire_at': '0001-01-01 00:00:00',
  });
});

t.test('tracing: an ENI of a pod’s own, vSwitches, a mode and a database that fails', async (t) => {
  const own: EniReport = {
    ...{ ...eni, actor: 'eni:1', mac: '00:16:3e:00:00:02' },
    addresses: [{ ...address('192.168.1.9', 'bound', 'default/o'), ownEni: true }],
  };
  const free: EniReport = {
    ...eni,
    actor: 'eni:2',
    mac: '00:16:3e:00:00:03',
    addresses: [address('192.168.1.1', 'idle')],
  };
  const lease = leaseOf('o');
  const { mac } = lease.grant.eni;
  const leases = [
    { ...lease, sandbox: { ...lease.sandbox, ownEni: true as const } },
    leaseOf('p', { ipv6: '2001:db8::c' }),
  ];
  const vSwitches = [
    { vSwitchId: 'vsw-1', free: 12 },
    { vSwitchId: 'vsw-2', free: null },
  ];
  const tracing = tracingOver({
    ...parts,
    report: () => ({
      ...{ ...report, enis: [eni, own, free], leases, vSwitches },
      store: { failing: { sinceMs: 0, why: 'No space left' }, setAside: null },
    }),
    now: () => ({ mode: 'ENIOnly', vSwitchPolicy: 'ordered' }),
  });
  t.match(valuesOf(tracing.config('network_service', 'default')), { daemon_mode: 'ENIOnly' });
  t.match(valuesOf(tracing.trace('network_service', 'default')), {
    ...{ 'pods/default/p/resources': `(eni)${mac} (eniIp)${mac}.192.168.0.12-2001:db8::c`, error: 'No space left' },
  });
  t.strictSame(tracing.names('resource_pool'), ['eniip', 'eni']);
  t.strictSame(valuesOf(tracing.config('resource_pool', 'eni')), {
    ...{ name: 'eni', max_idle: '0', min_idle: '0', capacity: '4' },
  });
  t.strictSame(valuesOf(tracing.trace('resource_pool', 'eni')), { idle: free.mac, inuse: own.mac });
  t.notOk(valuesOf(tracing.trace('resource_pool', 'eniip')).inuse?.includes('192.168.1.9'), 'that is no shared one');
  t.strictSame(valuesOf(tracing.config('factory', 'eni')), {
    ...{ name: 'eni', vswitches: 'vsw-1 vsw-2', vswitch_selection_policy: 'ordered' },
  });
  t.strictSame(valuesOf(tracing.trace('factory', 'eni')), {
    ...{ cache_expire_at: '0001-01-01 00:00:00', 'vswitch/vsw-1/ip_count': '12' },
  });
  t.match(tracing.mapping().resource_db, [{ type: 'eni' }, { type: 'eniIp' }]);
});

t.test('tracing: what is not there is told as Terway tells it', async (t) => {
  const client = await serve(t);
  const unknown = 2;
  await t.rejects(client.config('x', 'y'), { code: unknown, details: 'tracer type x not found' });
  await t.rejects(client.trace('factory', 'y'), { code: unknown, details: 'tracer name y of type factory not found' });
  const failing = async () => {
    for await (const _ of client.execute('x', 'y', 'z', [])) t.fail('nothing is told');
  };
  await t.rejects(failing(), { code: unknown, details: 'tracer type x not found' });
});

t.test('tracing: commands stream their answers', async (t) => {
  const client = await serve(t);
  const answer = async (command: string) => {
    let text = '';
    for await (const message of client.execute('network_service', 'default', command, [])) text += message;
    return text;
  };
  t.match(JSON.parse(await answer('resdb')), [{ pod_name: 'p', pod_namespace: 'default', type: 'eniIp' }]);
  t.match(JSON.parse(await answer('mapping')), [{ NetworkInterfaceID: 'eni-1' }]);
  t.equal(await answer('reboot'), "can't recognize command\n");
});

t.test('tracing: the mapping lists addresses as Terway does, the last one as text first', async (t) => {
  const client = await serve(t);
  const { info = [], resource_db = [] } = await client.mapping();
  t.strictSame(info, [
    {
      ...{ NetworkInterfaceID: 'eni-1', MAC: '00:16:3e:00:00:01', Type: 'secondary', Status: 'InUse' },
      AllocInhibitExpireAt: '0001-01-01 00:00:00 +0000 UTC',
      Info: [
        '192.168.0.9  default/q  Invalid',
        '192.168.0.12  default/p  Valid',
        '192.168.0.11    Deleting',
        '192.168.0.10    Valid',
      ],
    },
  ]);
  t.match(resource_db, [{ pod_name: 'p', eni_id: /^eni-/, ipv4: /^192\.168\./ }]);
});

t.test('tracing: before the actors have started everything is there, and empty', async (t) => {
  const client = await serve(t, () => null);
  t.strictSame(await client.mapping(), {});
  t.match(valuesOf(await client.trace('network_service', 'default')), { pending_pods_count: '0' });
});

t.test('tracing: field numbers are those of Terway', async (t) => {
  const { GetResourceMapping: mapping, ResourceExecute: execute } = tracingService();
  const reply = {
    info: [{ NetworkInterfaceID: 'e', Status: 's', Info: ['x'] }],
    resource_db: [{ pod_name: 'p', type: 't' }],
  };
  t.equal(
    mapping?.responseSerialize(reply).toString('hex'),
    '0a090a0165' + '2a0173' + '320178' + '12060a0170' + '3a0174',
  );
  const request = { Type: 'a', Name: 'b', Command: 'c', Args: ['d'] };
  t.equal(execute?.requestSerialize(request).toString('hex'), '0a0161' + '120162' + '1a0163' + '220164');
  t.strictSame([mapping?.path, execute?.responseStream], ['/rpc.TerwayTracing/GetResourceMapping', true]);
});
