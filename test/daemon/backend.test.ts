import t from 'tap';
import { EnactorError } from '../../src/core/errors.ts';
import { defaultSettings } from '../../src/core/settings.ts';
import { IP_TYPE } from '../../src/core/wire.ts';
import { backendOver } from '../../src/daemon/backend.ts';
import { allThere, FakeAllocator, FakeKubernetes, podP } from './fakes.ts';
import { leaseOf } from './lease-of.ts';

const call = { signal: new AbortController().signal, untilMs: 99_000 };
const request = {
  K8sPodName: 'p',
  K8sPodNamespace: 'default',
  K8sPodInfraContainerId: 'c1',
  Netns: '/run/netns/p',
  IfName: 'eth0',
  NetworkName: 'enactor',
};

const clock = { nowMs: () => 5_000 };

function node() {
  const allocator = new FakeAllocator();
  const kubernetes = new FakeKubernetes();
  const serviceCidr = { IPv4: '172.16.0.0/16' };
  return {
    allocator,
    kubernetes,
    backend: backendOver({
      allocator,
      kubernetes,
      sandboxes: allThere,
      nodeName: 'node-1',
      serviceCidr,
      reservations: defaultSettings,
      clock,
    }),
  };
}

const netConf = {
  BasicInfo: {
    PodIP: { IPv4: '192.168.0.12' },
    PodCIDR: { IPv4: '192.168.0.0/24' },
    GatewayIP: { IPv4: '192.168.0.253' },
    ServiceCIDR: { IPv4: '172.16.0.0/16' },
  },
  ENIInfo: {
    MAC: '00:16:3e:00:00:01',
    Trunk: false,
    GatewayIP: { IPv4: '192.168.0.253' },
    eRDMA: false,
    RouteTable: 1004,
    DeviceName: 'eth1',
    Mtu: 1500,
  },
  IfName: '',
  DefaultRoute: true,
};

t.test('backend: ADD becomes a lease of the pod the API server knows, with the deadline of the call', async (t) => {
  const { backend, allocator } = node();
  t.strictSame(await backend.AllocIP(request, call), {
    Success: true,
    IPType: 2,
    IPv4: true,
    IPv6: false,
    NetConfs: [netConf],
  });
  const pod = { namespace: 'default', name: 'p', uid: 'uid-p' };
  const sandbox = { containerId: 'c1', ifName: 'eth0', netns: '/run/netns/p', network: 'enactor', pod };
  const before = { askedMs: 5_000, podKnownMs: 5_000 };
  t.strictSame(allocator.allocated, [{ sandbox, untilMs: 99_000, reserveMs: 0, before }]);
});

t.test('backend: a sandbox with a lease is answered while the API server is away', async (t) => {
  const { backend, kubernetes } = node();
  const first = await backend.AllocIP(request, call);
  kubernetes.failure = new EnactorError('kubernetes', 'GET pods: ECONNREFUSED');
  t.strictSame(await backend.AllocIP(request, call), first);
  t.equal(kubernetes.asked, 1);
  await t.rejects(backend.AllocIP({ ...request, K8sPodInfraContainerId: 'c2' }, call), { code: 'kubernetes' });
});

t.test('backend: a pod that is not this node’s to serve gets no address, and why is told', async (t) => {
  const { backend, allocator, kubernetes } = node();
  for (const [pod, why] of [
    [null, /pod default\/p does not exist/],
    [{ ...podP, nodeName: 'node-2' }, /is on node node-2/],
    [{ ...podP, nodeName: null }, /none yet/],
    [{ ...podP, hostNetwork: true }, /host's network/],
    [{ ...podP, labels: { 'k8s.aliyun.com/ignore-by-terway': 'true' } }, /ignore-by-terway/],
  ] as const) {
    kubernetes.pod = pod;
    await t.rejects(backend.AllocIP(request, call), { code: 'podUnknown', detail: why });
  }
  t.strictSame(allocator.allocated, []);
});

t.test('backend: the uid of the sandbox must be the pod’s, or the kubelet’s name for a static pod', async (t) => {
  const { backend, allocator, kubernetes } = node();
  await backend.AllocIP({ ...request, PodUid: 'uid-p' }, call);
  await t.rejects(backend.AllocIP({ ...request, K8sPodInfraContainerId: 'c2', PodUid: 'uid-old' }, call), {
    code: 'podUnknown',
    detail: /has uid uid-p, the sandbox was made for uid-old/,
  });
  kubernetes.pod = { ...podP, annotations: { 'kubernetes.io/config.hash': 'uid-static' } };
  await backend.AllocIP({ ...request, K8sPodInfraContainerId: 'c3', PodUid: 'uid-static' }, call);
  t.equal(allocator.allocated.length, 2);
});

t.test('backend: a request without what names the sandbox or the pod is refused by field', async (t) => {
  const { backend } = node();
  for (const [more, field] of [
    [{ K8sPodInfraContainerId: '' }, /K8sPodInfraContainerId/],
    [{ K8sPodInfraContainerId: 'x'.repeat(300) }, /K8sPodInfraContainerId/],
    [{ K8sPodName: '' }, /K8sPodName/],
    [{ K8sPodNamespace: '' }, /K8sPodNamespace/],
    [{ IfName: 'a-name-that-is-too-long' }, /IfName/],
    [{ IfName: 'a/b' }, /IfName/],
  ] as const)
    await t.rejects(backend.AllocIP({ ...request, ...more }, call), { code: 'invalidArgument', detail: field });
});

t.test(
  'backend: release gives back what was held and succeeds when nothing was, without asking the API server',
  async (t) => {
    const { backend, allocator, kubernetes } = node();
    allocator.leases.set('c1/eth0', leaseOf('c1'));
    const { IfName: _, ...terways } = request;
    const reply = { Success: true, IPType: 2, IPv4: true, IPv6: false };
    t.strictSame(await backend.ReleaseIP({ ...terways, Reason: 'DEL' }, call), { ...reply, NetConfs: [netConf] });
    t.strictSame(await backend.ReleaseIP(terways, call), { ...reply, NetConfs: [] });
    t.match(allocator.released[0], { containerId: 'c1', ifName: 'eth0', reason: 'DEL', pod: { name: 'p', uid: null } });
    t.equal(kubernetes.asked, 0);
    allocator.failure = new EnactorError('store', 'disk full');
    await t.rejects(backend.ReleaseIP(terways, call), { code: 'store' });
  },
);

t.test('backend: info tells the lease of the sandbox, and nothing of another one', async (t) => {
  const { backend, allocator } = node();
  allocator.leases.set('c1/net1', leaseOf('c1', { ifName: 'net1' }));
  const reply = { Success: true, IPType: 2, IPv4: true, IPv6: false };
  t.strictSame(await backend.GetIPInfo({ ...request, IfName: 'net1' }, call), { ...reply, NetConfs: [netConf] });
  t.strictSame(await backend.GetIPInfo(request, call), { ...reply, NetConfs: [] });
});

t.test('backend: a pair of addresses is told in both families', async (t) => {
  const { backend, allocator } = node();
  allocator.leases.set('c1/eth0', leaseOf('c1', { ipv6: '2001:db8::12' }));
  const { NetConfs } = await backend.GetIPInfo(request, call);
  t.match(NetConfs?.[0]?.BasicInfo, {
    PodIP: { IPv4: '192.168.0.12', IPv6: '2001:db8::12' },
    PodCIDR: { IPv4: '192.168.0.0/24', IPv6: '2001:db8::/64' },
    GatewayIP: { IPv4: '192.168.0.253', IPv6: '2001:db8::f7' },
  });
});

t.test('backend: events go to the pod or the node with their uid', async (t) => {
  const { backend, kubernetes } = node();
  const pod = { EventTarget: 1, K8sPodName: 'p', K8sPodNamespace: 'default', EventType: 1 };
  t.strictSame(await backend.RecordEvent({ ...pod, Reason: 'AllocIPFailed', Message: 'why' }, call), { Succeed: true });
  await backend.RecordEvent({ EventTarget: 0, EventType: 0, Reason: 'Fine', Message: 'm' }, call);
  t.strictSame(kubernetes.events, [
    {
      target: { kind: 'pod', namespace: 'default', name: 'p', uid: 'uid-p' },
      type: 'Warning',
      reason: 'AllocIPFailed',
      message: 'why',
    },
    { target: { kind: 'node', name: 'node-1', uid: 'uid-node' }, type: 'Normal', reason: 'Fine', message: 'm' },
  ]);
  await t.rejects(backend.RecordEvent({ ...pod, K8sPodName: 'q' }, call), { code: 'podUnknown' });
});

t.test(
  'backend: what a pod asks for in bandwidth is in every answer about its lease; what cannot be read is told to the pod',
  async (t) => {
    const { backend, allocator, kubernetes } = node();
    const annotations = {
      'kubernetes.io/egress-bandwidth': '10M',
      'k8s.aliyun.com/egress-bandwidth': '1M',
      'k8s.aliyun.com/ingress-bandwidth': 'much',
    };
    kubernetes.pod = { ...podP, annotations };
    const shaped = { NetConfs: [{ ...netConf, Pod: { Egress: '1250000' } }] };
    t.match(await backend.AllocIP(request, call), shaped);
    t.strictSame(allocator.allocated[0]?.sandbox.shaping, { egress: 1_250_000 }, 'the lease keeps it');
    t.match(kubernetes.events, [
      {
        target: { kind: 'pod', name: 'p' },
        type: 'Warning',
        reason: 'BandwidthIgnored',
        message: /ingress-bandwidth: "much"/,
      },
    ]);
    kubernetes.pod = podP;
    t.match(await backend.AllocIP(request, call), shaped, 'asked again');
    t.match(await backend.GetIPInfo(request, call), shaped);
    t.equal(kubernetes.events.length, 1);
  },
);

t.test(
  'backend: a pod that asks for an ENI of its own is told that it has one, and that policy is not enforced',
  async (t) => {
    const { allocator, kubernetes } = node();
    const given: string[] = [];
    const parts = {
      allocator,
      kubernetes,
      sandboxes: allThere,
      nodeName: 'node-1',
      serviceCidr: null,
      reservations: defaultSettings,
      clock,
    };
    const backend = backendOver({ ...parts, ownEnis: { given: () => void given.push('given') } });
    kubernetes.pod = { ...podP, ownerKind: 'StatefulSet', annotations: { 'k8s.aliyun.com/ENI': 'true' } };
    t.match(await backend.AllocIP(request, call), { IPType: 1 });
    t.match(allocator.allocated, [{ sandbox: { ownEni: true }, reserveMs: 0 }]);
    t.match(await backend.GetIPInfo(request, call), { IPType: 1 });
    await backend.AllocIP(request, call);
    t.equal(given.length, 2);
    const told = [
      { reason: 'NetworkPolicyNotEnforced', type: 'Warning' },
      { reason: 'AddressNotKept', message: /daemon_mode ENIOnly keeps both/ },
    ];
    t.match(kubernetes.events, told, 'and that an ENI is kept for nobody, each once');
    t.equal(kubernetes.events.length, 2);
    t.match(await backend.ReleaseIP({ ...request, IPType: 1, Reason: '' }, call), { IPType: 1 });

    kubernetes.pod = { ...podP, wantsEni: true };
    t.match(await backend.AllocIP({ ...request, K8sPodInfraContainerId: 'c2' }, call), { IPType: 1 });
    t.equal(kubernetes.events.length, 3, 'a pod of which nothing would be kept hears of policy alone');
    kubernetes.pod = { ...podP, ownerKind: 'StatefulSet' };
    t.match(await backend.AllocIP({ ...request, K8sPodInfraContainerId: 'c3' }, call), { IPType: 2 });
    t.equal(kubernetes.events.length, 3, 'and one that shares its ENI of nothing');
    kubernetes.pod = { ...podP, wantsEni: true };
    t.match(
      await backendOver(parts).AllocIP({ ...request, K8sPodInfraContainerId: 'c4' }, call),
      { IPType: 2 },
      'where none may',
    );
  },
);

t.test(
  'backend: a pod that asks for an ENI of its own where there are none has an address all the same, and is told once',
  async (t) => {
    const { allocator, kubernetes } = node();
    const parts = {
      allocator,
      kubernetes,
      sandboxes: allThere,
      nodeName: 'node-1',
      serviceCidr: null,
      reservations: defaultSettings,
      clock,
    };
    const backend = backendOver({ ...parts, ipType: IP_TYPE.vpcIp });
    kubernetes.pod = { ...podP, wantsEni: true };
    t.match(await backend.AllocIP(request, call), { IPType: 0 });
    await backend.AllocIP(request, call);
    t.equal(kubernetes.events.length, 1);
    t.match(kubernetes.events, [
      {
        target: { kind: 'pod', name: 'p' },
        type: 'Warning',
        reason: 'OwnEniNotGiven',
        message: /daemon_mode VPC has not/,
      },
    ]);
    kubernetes.pod = podP;
    await backend.AllocIP({ ...request, K8sPodInfraContainerId: 'c2' }, call);
    t.equal(kubernetes.events.length, 1, 'and nobody else');
  },
);
