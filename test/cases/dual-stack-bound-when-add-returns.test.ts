/**
 * A dual-stack pod binds its IPv6 address the moment ADD returns: no address is tentative, of pods behind a pair and of those with an ENI of their own.
 * A server that starts before duplicate address detection is over gets EADDRNOTAVAIL, and most do not try again.
 */
import { closeSync } from 'node:fs';
import { type Test, test } from 'tap';
import { familyOf, ipBytes } from '../../src/core/ip.ts';
import { IP_TYPE } from '../../src/core/wire.ts';
import { libc, TestNamespace } from '../adapters/netlink/namespaces.ts';
import { argsOf, type Bench, cannotRunPlugin, pluginBench, startPlugin } from '../plugin/plugin-process.ts';
import { SPEED } from './speed.ts';

const skip = cannotRunPlugin();
const PODS = SPEED === 1 ? 100 : 20;
const [AF_INET, AF_INET6] = [2, 10];
const SOCK_STREAM_CLOEXEC = 1 | 0o2000000;
const PORT = 8080;

/** 0, or the errno with which a server of the pod is refused the address. */
function bound(pod: TestNamespace, ip: string): number {
  const v6 = familyOf(ip) === 6;
  const fd = pod.run(() => libc.socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM_CLOEXEC, 0));
  const address = Buffer.alloc(v6 ? 28 : 16); // struct sockaddr_in6, sockaddr_in
  address.writeUInt16LE(v6 ? AF_INET6 : AF_INET, 0);
  address.writeUInt16BE(PORT, 2);
  address.set(ipBytes(ip), v6 ? 8 : 4);
  const result = libc.bind(fd, address);
  closeSync(fd);
  return result;
}

async function addAndBind(t: Test, host: TestNamespace, { env, conf }: Bench, at: number): Promise<readonly string[]> {
  const pod = new TestNamespace(t, `pod${at}`);
  const named = { CNI_NETNS: pod.path, CNI_CONTAINERID: `s${at}`, CNI_ARGS: argsOf(`web-${at}`) };
  const ran = await startPlugin(host, { env: env('ADD', named), stdin: conf() });
  if (ran.exitCode !== 0) return [ran.stdout];
  const ips = (ran.json() as { ips: { address: string }[] }).ips.map(({ address }) => address.split('/')[0] ?? '');
  const refused = ips.filter((ip) => bound(pod, ip) !== 0);
  pod.remove();
  return [...refused, ...(ips.some((ip) => familyOf(ip) === 6) ? [] : ['no IPv6 address'])];
}

test(`dual stack: ${PODS} of ${PODS} pods bind both addresses as soon as ADD has returned`, { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  const bench = await pluginBench(t, null);
  bench.daemon.dual = true;
  const refused: string[] = [];
  for (let at = 0; at < PODS; at += 1) refused.push(...(await addAndBind(t, host, bench, at)));
  t.strictSame(refused, []);

  // What would happen otherwise, so that the above could fail.
  const pod = new TestNamespace(t, 'plain');
  pod.ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'far');
  for (const device of ['eth0', 'far']) pod.ip('link', 'set', device, 'up');
  pod.ip('addr', 'add', 'fd00::99/128', 'dev', 'eth0');
  t.not(bound(pod, 'fd00::99'), 0, 'an address that is being looked for twice cannot be bound');
});

test('dual stack: so do pods with an ENI of their own', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  const bench = await pluginBench(t, null);
  bench.daemon.dual = true;
  let mac = '';
  bench.daemon.shape = (reply) => {
    const [one] = reply.NetConfs ?? [];
    const GatewayIP = { IPv4: '192.168.0.253', IPv6: 'fd00::fd' };
    const ENIInfo = { ...one?.ENIInfo, MAC: mac, RouteTable: 254, GatewayIP };
    return { ...reply, IPType: IP_TYPE.vpcEni, NetConfs: [{ ...one, ENIInfo }] };
  };
  const refused: string[] = [];
  for (let at = 0; at < PODS / 5; at += 1) {
    mac = `00:16:3e:00:01:${at.toString(16).padStart(2, '0')}`;
    host.ip('link', 'add', `eni${at}`, 'address', mac, 'type', 'veth', 'peer', 'name', `eni${at}far`);
    host.ip('link', 'set', `eni${at}far`, 'up');
    refused.push(...(await addAndBind(t, host, bench, at)));
  }
  t.strictSame(refused, []);
});
