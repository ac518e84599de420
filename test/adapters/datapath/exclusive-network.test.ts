import { type Test, test } from 'tap';
import { ExclusiveNetwork } from '../../../src/adapters/datapath/exclusive-network.ts';
import { type ExclusiveWanted, exclusivePlan } from '../../../src/adapters/datapath/exclusive-plan.ts';
import { PodNamespace } from '../../../src/adapters/datapath/pod-namespace.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../netlink/namespaces.ts';

const skip = cannotMakeNamespaces();
const network = new ExclusiveNetwork(libc);
const ENI_MAC = '00:16:3e:00:00:07';

function ground(t: Test) {
  const host = new TestNamespace(t, 'host');
  const pod = new TestNamespace(t, 'pod');
  host.ip('link', 'add', 'eth1', 'address', ENI_MAC, 'type', 'veth', 'peer', 'name', 'eth1far');
  host.ip('link', 'set', 'eth1far', 'up');
  const wanted: ExclusiveWanted = {
    sandbox: {
      containerId: 'sandbox-1',
      ifName: 'eth0',
      netns: pod.path,
      network: 'net',
      pod: { namespace: 'default', name: 'web-0', uid: null },
    },
    ips: ['192.168.0.10', 'fd00::10'],
    mtu: 1400,
    eniMac: ENI_MAC,
    gateways: ['192.168.0.253', 'fd00::fd'],
    throughHost: ['10.0.0.5', '2001:db8::5', '172.21.0.0/20', 'fd00:21::/112', '169.254.20.10/32'],
  };
  const within = <T>(work: (namespace: PodNamespace) => T): T => {
    const namespace = new PodNamespace(libc, pod.path);
    try {
      return host.run(() => work(namespace));
    } finally {
      namespace.close();
    }
  };
  return {
    host,
    pod,
    wanted,
    attach: (more: Partial<ExclusiveWanted> = {}) =>
      within((namespace) => network.attach(exclusivePlan({ ...wanted, ...more }), namespace)),
    verify: () => within((namespace) => network.verify(exclusivePlan(wanted), namespace)),
    detach: (mac: string | null) => within((namespace) => network.detach(wanted.sandbox, namespace, mac)),
  };
}

test('exclusive: the ENI’s device becomes the pod’s, and what is the host’s to do goes over the pair', {
  skip,
}, (t) => {
  const { host, pod, attach, verify } = ground(t);
  const { hostName } = attach();
  t.match(
    pod.ip('addr', 'show', 'eth0'),
    /mtu 1400[\s\S]*00:16:3e:00:00:07[\s\S]*inet 192\.168\.0\.10\/32[\s\S]*inet6 fd00::10\/128/,
  );
  const routes = pod.ip('route');
  t.match(routes, /default via 192\.168\.0\.253 dev eth0 onlink/);
  for (const through of ['10.0.0.5', '172.21.0.0/20', '169.254.20.10'])
    t.match(routes, new RegExp(`${through.replaceAll('.', '\\.')} via 169\\.254\\.1\\.1 dev veth1 onlink`));
  t.match(pod.ip('-6', 'route'), /default via fd00::fd dev eth0/);
  t.match(pod.ip('-6', 'route'), /fd00:21::\/112 via fe80::1 dev veth1/);
  t.match(host.ip('route'), new RegExp(`192\\.168\\.0\\.10 dev ${hostName} scope link`));
  t.notMatch(host.ip('rule'), /192\.168\.0\.10/, 'no rule: the pod’s traffic is not the host’s');
  t.throws(() => host.ip('link', 'show', 'eth1'), 'the device is the host’s no more');
  t.equal(verify(), null);
  t.end();
});

test('exclusive: what is taken away is named, and nothing is repaired', { skip }, (t) => {
  const { host, pod, attach, verify } = ground(t);
  const { hostName } = attach();
  const breaks: [() => unknown, () => unknown, RegExp][] = [
    [
      () => pod.ip('route', 'del', '172.21.0.0/20'),
      () => pod.ip('route', 'add', '172.21.0.0/20', 'via', '169.254.1.1', 'dev', 'veth1', 'onlink'),
      /route to 172\.21\.0\.0\/20 on veth1/,
    ],
    [
      () => pod.ip('addr', 'del', '192.168.0.10/32', 'dev', 'eth0'),
      () => {
        pod.ip('addr', 'add', '192.168.0.10/32', 'dev', 'eth0');
        pod.ip('route', 'replace', 'default', 'via', '192.168.0.253', 'dev', 'eth0', 'onlink'); // it goes with the address
      },
      /address 192\.168\.0\.10 on eth0/,
    ],
    [
      () => host.ip('route', 'del', '192.168.0.10'),
      () => host.ip('route', 'add', '192.168.0.10', 'dev', hostName),
      /route to 192\.168\.0\.10\/32 dev cali/,
    ],
    [() => pod.ip('link', 'set', 'veth1', 'down'), () => {}, /veth1 in the pod is down/],
  ];
  for (const [spoil, mend, missing] of breaks) {
    spoil();
    t.match(verify(), missing);
    t.match(verify(), missing);
    mend();
  }
  t.end();
});

test('exclusive: the device comes back to the host, by its MAC and by nothing else', { skip }, (t) => {
  const { host, pod, attach, detach } = ground(t);
  attach();
  detach('00:16:3e:00:00:08');
  detach(null); // a veth is no physical device
  t.match(pod.ip('link', 'show', 'eth0'), /00:16:3e:00:00:07/, 'another ENI’s MAC, or none, takes nothing');
  detach(ENI_MAC);
  t.throws(() => pod.ip('link', 'show', 'eth0'));
  t.match(host.ip('link'), /eni3e000007@?[^\n]*\n[^\n]*00:16:3e:00:00:07/);
  detach(ENI_MAC);
  t.end();
});

test('exclusive: an ADD that fails leaves the device on the host, under its name, and nothing else', { skip }, (t) => {
  const { host, pod, attach } = ground(t);
  // Less what the kernel makes of IPv6 when a device comes and goes, and of the carrier's state, which it tells a while later.
  const links = (text: string) => text.replaceAll(/ (UNKNOWN|DOWN|LOWERLAYERDOWN|UP) +/g, ' ');
  const state = () =>
    [host, pod].map((one) => [
      links(one.ip('-o', '-br', 'link')),
      one.ip('-4', 'route', 'show', 'table', 'all'),
      one.ip('rule'),
    ]);
  const before = state();
  t.throws(() => attach({ mtu: 100_000 }), { code: 'EINVAL' });
  t.strictSame(state(), before, 'a setting that the kernel refuses');
  t.throws(() => attach({ eniMac: '00:16:3e:00:00:09' }), { message: /00:16:3e:00:00:09 is not on the host/ });
  pod.ip('link', 'add', 'veth1', 'type', 'veth', 'peer', 'name', 'other');
  t.throws(() => attach(), { message: /veth1 in .* exists already/ });
  t.match(host.ip('link', 'show', 'eth1'), /00:16:3e:00:00:07/);
  t.end();
});
