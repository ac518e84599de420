/** The lab's kube-proxy in IPVS mode: which servers it makes, and what it has masqueraded. That packets go where they should is tried in test/vm. */
import t from 'tap';
import { ipvsAddresses, ipvsRules, ipvsServers } from '../../../src/lab/services/ipvs-rules.ts';
import type { ProxyNode } from '../../../src/lab/services/local-traffic.ts';
import type { Endpoint, ServicePort } from '../../../src/lab/services/service-port.ts';

const node: ProxyNode = {
  name: 'test',
  ips: ['192.168.0.2', 'fd00::2'],
  local: { by: 'clusterCidr', cidrs: { 4: '10.0.0.0/8', 6: 'fd00:10::/64' } },
  serviceCidrs: { 4: '172.30.0.0/16', 6: 'fd00:172:30::/112' },
};
const here: Endpoint = { ip: '10.180.0.1', port: 80, nodeName: 'test' };
const far: Endpoint = { ip: '10.180.0.2', port: 80, nodeName: 'other' };

const port = (endpoints: readonly Endpoint[], more: Partial<ServicePort> = {}): ServicePort => ({
  ...{ title: 'ns/svc:p80', namespace: 'ns', name: 'svc', portName: 'p80', family: 4, protocol: 'tcp' },
  ...{ clusterIp: '172.30.0.41', port: 80, nodePort: null, externalIps: [], loadBalancerIps: [] },
  ...{ local: false, affinityS: null, endpoints },
  ...more,
});

t.test('kube-proxy, IPVS: a server for each address of a service, on the node’s own for a NodePort', async (t) => {
  const shown = { nodePort: 3001, externalIps: ['192.168.99.22'], loadBalancerIps: ['1.2.3.4'] };
  const service = port([here, far], shown);
  t.strictSame(ipvsAddresses([service, service]), ['172.30.0.41', '192.168.99.22', '1.2.3.4'], 'each once');
  const both = (which: string) =>
    [`-A ${which} -s rr`, `-a ${which} -r 10.180.0.1:80 -m -w 1`, `-a ${which} -r 10.180.0.2:80 -m -w 1`].join('\n');
  const all = ['172.30.0.41:80', '192.168.99.22:80', '1.2.3.4:80', '192.168.0.2:3001'];
  t.equal(ipvsServers([service], node), `${all.map((one) => both(`-t ${one}`)).join('\n')}\n`);
});

t.test('kube-proxy, IPVS: policy Local prefers backends of the node, and without one there sends to all', async (t) => {
  const shown = { nodePort: 3001, loadBalancerIps: ['1.2.3.4'], local: true };
  const lines = (endpoints: readonly Endpoint[]) => ipvsServers([port(endpoints, shown)], node).split('\n');
  const of = (all: readonly string[], which: string) => all.filter((line) => line.startsWith(`-a -t ${which} `)).length;
  t.strictSame(
    ['172.30.0.41:80', '1.2.3.4:80', '192.168.0.2:3001'].map((which) => of(lines([here, far]), which)),
    [2, 1, 1],
  );
  t.strictSame(
    ['172.30.0.41:80', '1.2.3.4:80', '192.168.0.2:3001'].map((which) => of(lines([far, far]), which)),
    [2, 2, 2],
  );
});

t.test('kube-proxy, IPVS: a client that sticks does so as a whole address in IPv6 too', async (t) => {
  const six = { family: 6, clusterIp: 'fd00:172:30::41', affinityS: 60, protocol: 'udp' } as const;
  t.equal(
    ipvsServers([port([{ ...far, ip: 'fd00:10::2' }], six)], node),
    '-A -u [fd00:172:30::41]:80 -s rr -p 60 -M 128\n-a -u [fd00:172:30::41]:80 -r [fd00:10::2]:80 -m -w 1\n',
  );
});

t.test('kube-proxy, IPVS: what it has masqueraded, and what not', async (t) => {
  const shown = { nodePort: 3001, externalIps: ['192.168.99.22'], loadBalancerIps: ['1.2.3.4'] };
  const to = (ip: string) => `-A KUBE-SERVICES -m tcp -p tcp -d ${ip} --dport 80`;
  const lines = (local: boolean) => ipvsRules([port([here, far], { ...shown, local })], node, 4).split('\n');
  const cluster = [
    `${to('172.30.0.41')} ! -s 10.0.0.0/8 -j KUBE-MARK-MASQ`,
    `${to('192.168.99.22')} -j KUBE-MARK-MASQ`,
    '-A KUBE-NODE-PORT -m tcp -p tcp --dport 3001 -j KUBE-MARK-MASQ',
    '-A KUBE-POSTROUTING -s 10.180.0.1 -m tcp -p tcp -d 10.180.0.1 --dport 80 -j MASQUERADE',
  ];
  for (const line of cluster) t.ok(lines(false).includes(line), line);
  const only = [
    '-A KUBE-LOAD-BALANCER -m tcp -p tcp -d 1.2.3.4 --dport 80 -j RETURN',
    '-A KUBE-NODE-PORT -m tcp -p tcp --dport 3001 -j RETURN',
  ];
  for (const line of only) t.ok(lines(true).includes(line), line);
  t.notOk(lines(true).includes(`${to('192.168.99.22')} -j KUBE-MARK-MASQ`));
  t.notOk(
    lines(false).some((line) => line.startsWith('-A KUBE-LOAD-BALANCER') && line.endsWith('RETURN')),
    'policy Cluster is masqueraded',
  );
  t.notOk(
    lines(false).some((line) => line.includes('-s 10.180.0.2 ')),
    'a pod of another node reaches itself there',
  );
});
