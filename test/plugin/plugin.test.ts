import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { test } from 'tap';
import { hostVethName } from '../../src/core/host-veth-name.ts';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { argsOf, cannotRunPlugin, hostWithEni, pluginBench, startPlugin } from './plugin-process.ts';

const skip = cannotRunPlugin();

test('plugin: ADD gives a pod its address, CHECK finds it, DEL takes all away, twice', { skip }, async (t) => {
  const host = hostWithEni(t);
  const pod = new TestNamespace(t, 'pod');
  const { daemon, conf, env } = await pluginBench(t, pod);
  daemon.dual = true;
  const before = [host.state(), pod.state()];
  const added = await startPlugin(host, {
    env: env('ADD', { CNI_ARGS: argsOf('web-0', ';K8S_POD_UID=u1') }),
    stdin: conf(),
  });
  t.equal(added.exitCode, 0, added.stdout);
  t.equal(added.stderr, '');
  t.match(added.json(), {
    cniVersion: '1.0.0',
    interfaces: [
      { name: hostVethName({ namespace: 'default', name: 'web-0' }, 'eth0') },
      { name: 'eth0', sandbox: pod.path },
    ],
    ips: [
      { interface: 1, address: '192.168.0.10/32', gateway: '169.254.1.1' },
      { interface: 1, address: 'fd00::10/128', gateway: 'fe80::1' },
    ],
    routes: [
      { dst: '0.0.0.0/0', gw: '169.254.1.1' },
      { dst: '::/0', gw: 'fe80::1' },
    ],
  });
  t.notOk('dns' in added.json());
  t.match(daemon.calls[0], {
    method: 'AllocIP',
    timeoutMs: '99500',
    body: {
      K8sPodName: 'web-0',
      K8sPodNamespace: 'default',
      K8sPodInfraContainerId: 's1',
      Netns: pod.path,
      IfName: 'eth0',
      NetworkName: 'podnet',
      PodUid: 'u1',
    },
  });
  t.match(pod.ip('addr', 'show', 'eth0'), /mtu 1400[\s\S]*inet 192\.168\.0\.10\/32/);
  t.match(host.ip('rule'), /2048:\s+from 192\.168\.0\.10 lookup 1007/);

  const prevResult = added.json();
  const checked = await startPlugin(host, { env: env('CHECK'), stdin: conf({ prevResult }) });
  t.strictSame([checked.exitCode, checked.stdout], [0, '']);

  for (const time of ['first', 'second']) {
    const deleted = await startPlugin(host, { env: env('DEL'), stdin: conf({ prevResult }) });
    t.strictSame([deleted.exitCode, deleted.stdout, deleted.stderr], [0, '', ''], time);
    t.strictSame([host.state(), pod.state()], before, `${time}: nothing left`);
  }
  t.equal(daemon.leases.size, 0);
  t.notOk(readdirSync(new URL('.', `file://${daemon.socketPath}`)).includes('pending-deletes'));
});

test('plugin: the result has the shape of each version', { skip }, async (t) => {
  const host = hostWithEni(t);
  for (const cniVersion of ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0']) {
    const pod = new TestNamespace(t, 'pod');
    const { conf, env } = await pluginBench(t, pod);
    const added = await startPlugin(host, { env: env('ADD'), stdin: conf({ cniVersion }) });
    t.equal(added.exitCode, 0, added.stdout);
    const result = added.json() as {
      cniVersion: string;
      ips: { version?: string }[];
      dns?: object;
      interfaces: object[];
    };
    t.equal(result.cniVersion, cniVersion);
    t.equal(result.ips[0]?.version, cniVersion.startsWith('0.') ? '4' : undefined);
    const mtus = result.interfaces.map((one) => ('mtu' in one ? one.mtu : null));
    t.strictSame(mtus, cniVersion === '1.1.0' ? [1400, 1400] : [null, null]);
    t.strictSame(result.dns, cniVersion.startsWith('0.') ? {} : undefined);
    t.equal((await startPlugin(host, { env: env('DEL'), stdin: conf({ cniVersion }) })).exitCode, 0);
  }
});

test('plugin: a pod is held to what daemon and runtime say, the runtime first', { skip }, async (t) => {
  const host = hostWithEni(t);
  const pod = new TestNamespace(t, 'pod');
  const { daemon, conf, env } = await pluginBench(t, pod);
  daemon.shape = (reply) => ({
    ...reply,
    NetConfs: reply.NetConfs?.map((each) => ({ ...each, Pod: { Ingress: '250000', Egress: '500000' } })) ?? [],
  });
  const stdin = (more = {}) =>
    conf({ runtimeConfig: { bandwidth: { egressRate: 1_000_000, egressBurst: 9 } }, ...more });
  const added = await startPlugin(host, { env: env('ADD'), stdin: stdin() });
  t.equal(added.exitCode, 0, added.stdout);
  const tc = (namespace: TestNamespace, device: string) =>
    execFileSync('ip', ['netns', 'exec', namespace.name, 'tc', 'qdisc', 'show', 'dev', device], { encoding: 'utf8' });
  const hostName = hostVethName({ namespace: 'default', name: 'web-0' }, 'eth0');
  t.match(tc(host, hostName), /tbf 1: root .*rate 2Mbit/, 'the daemon: bytes');
  t.match(tc(pod, 'eth0'), /tbf 1: root .*rate 1Mbit/, 'the runtime: bits');
  const prevResult = added.json();
  t.equal((await startPlugin(host, { env: env('CHECK'), stdin: stdin({ prevResult }) })).exitCode, 0);
  execFileSync('ip', ['netns', 'exec', pod.name, 'tc', 'qdisc', 'del', 'dev', 'eth0', 'root']);
  const checked = await startPlugin(host, { env: env('CHECK'), stdin: stdin({ prevResult }) });
  t.match(checked.json(), { code: 100, msg: 'missing: limit of 125000 bytes/s (tbf) on eth0' });
  t.equal((await startPlugin(host, { env: env('DEL'), stdin: stdin({ prevResult }) })).exitCode, 0);
});
