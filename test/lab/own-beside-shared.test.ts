/**
 * VPCENI on a node whose other pods share their ENIs: a pod that asks by annotation, or by the resource `aliyun/eni`, has an ENI for itself, with its
 * device in the pod; the others notice nothing. Each mode through {pod, ClusterIP, node, internet}, a daemon that is killed, ENIs that come back.
 */
import './in-box.ts';

import t, { type Test } from 'tap';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { OWN_ENI_ANNOTATION, OWN_ENI_RESOURCE } from '../../src/core/own-eni.ts';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import { INTERNET, NAT_GATEWAY, OUTSIDE } from '../../src/lab/edge/edge.ts';
import type { Lab } from '../../src/lab/lab.ts';
import { SERVICE_PORT } from '../../src/lab/services/publish-service.ts';
import { badPaths, created, killed, rested, skip, withOwnEnis, withServices } from './own-eni-stage.ts';

t.setTimeout(150_000);
/** Backend on the other node; backend that has an ENI of its own; backend that shares one. */
const SERVICES = {
  far: { clusterIps: ['172.21.0.10', 'fd00:21::10'], nodePort: 30_801 },
  own: { clusterIps: ['172.21.0.11', 'fd00:21::11'], nodePort: 30_802 },
  shared: { clusterIps: ['172.21.0.12', 'fd00:21::12'], nodePort: 30_803 },
} as const;
const OWN = { annotations: { [OWN_ENI_ANNOTATION]: 'true' } };

t.test('a shared node: pods with an ENI of their own beside those that share one', { skip }, (t) =>
  withOwnEnis(t, { instanceType: 'ecs.g7.large' }, (lab) => lived(t, lab)),
);

const eniOf = (lab: Lab, pod: string) =>
  lab.truth().enis.find(({ ipv4 }) => ipv4.includes(lab.pods.get(pod)?.ips[0] ?? 'none'));

/** MACs of the devices in a pod, or on a node. */
function macsIn(lab: Lab, place: string): readonly (string | null)[] {
  const netns = lab.netnsOf(place);
  if (netns === null) throw new Error(`no ${place}`);
  const netlink = new Netlink(openKoffiLibc(), netns.fd);
  try {
    return netlink.links().map(({ mac }) => mac);
  } finally {
    netlink.close();
  }
}

/** Names of those that have such an event. */
function toldOf(lab: Lab, reason: string): readonly string[] {
  const resource = resourceNamed('events');
  if (resource === null) throw new Error('the API server of the lab knows no events');
  const events = lab.api.store.list(resource, null) as readonly {
    reason?: string;
    involvedObject?: { name?: string };
  }[];
  return events
    .filter((event) => event.reason === reason)
    .map(({ involvedObject }) => involvedObject?.name ?? '')
    .sort();
}

async function lived(t: Test, lab: Lab): Promise<void> {
  await Promise.all([
    lab.addPod('shared', 'node-1', { labels: { pod: 'shared' } }),
    lab.addPod('shared-2', 'node-1'),
    lab.addPod('own', 'node-1', { labels: { pod: 'own' }, ...OWN }),
    lab.addPod('far', 'node-2', { labels: { pod: 'far' } }),
    lab.addPod('far-own', 'node-2', { resources: { [OWN_ENI_RESOURCE]: '1' } }),
  ]);
  for (const name of ['own', 'far-own']) {
    const eni = eniOf(lab, name);
    t.equal(eni?.ipv4.length, 1, `${name}: nobody else has an address of its ENI`);
    t.ok(macsIn(lab, name).includes(eni?.mac ?? ''), `${name}: the ENI's device is in the pod`);
    t.notOk(macsIn(lab, name === 'own' ? 'node-1' : 'node-2').includes(eni?.mac ?? ''), `${name}: and not on the node`);
  }
  t.equal(eniOf(lab, 'shared')?.eniId, eniOf(lab, 'shared-2')?.eniId);
  t.strictSame(toldOf(lab, 'NetworkPolicyNotEnforced'), ['far-own', 'own'], 'who is told that policy is not enforced');
  t.strictSame(await badPaths(lab), [], 'every path, each seen as itself');
  await services(t, lab);

  t.equal(await killed(lab), 3);
  t.strictSame(await badPaths(lab), [], 'after kill -9 of the daemon');

  const before = created(lab);
  const { eniId } = eniOf(lab, 'own') ?? {};
  await lab.removePod('own');
  await rested();
  await lab.addPod('again', 'node-1', OWN);
  t.equal(eniOf(lab, 'again')?.eniId, eniId, 'the ENI that came back is the next one’s');
  t.strictSame(await badPaths(lab), [], 'on the ENI that came back');
  await lab.removePod('again');
  await rested();
  await Promise.all(['one', 'two', 'three', 'four', 'five'].map((name) => lab.addPod(name, 'node-1')));
  t.ok(
    ['one', 'two', 'three', 'four', 'five'].some((name) => eniOf(lab, name)?.eniId === eniId),
    'or of pods that share it',
  );
  t.strictSame(await badPaths(lab), [], 'and works as any other');
  t.equal(created(lab), before, 'no ENI was made for them');
}

async function services(t: Test, lab: Lab): Promise<void> {
  await withServices(lab, SERVICES, async ({ seen, at: addressOf }) => {
    for (const family of [4, 6] as const) {
      const at = (name: string) => addressOf(name, family);
      const service = (name: keyof typeof SERVICES) => SERVICES[name].clusterIps[family === 4 ? 0 : 1];
      // What a pod with an ENI of its own asks of a service is the node's; one that shares its ENI sends to such a pod by the VPC.
      const rows = [
        ['shared', 'far', at('shared')],
        ['shared', 'own', at('shared')],
        ['shared', 'shared', at('node-1')],
        ['own', 'far', at('node-1')],
        ['own', 'shared', at('node-1')],
        ['own', 'own', at('node-1')],
        ['far', 'own', at('far')],
        ['far', 'shared', at('far')],
      ] as const;
      const all = await Promise.all(rows.map(([from, name]) => seen(from, service(name), SERVICE_PORT)));
      for (const [index, [from, name, wanted]] of rows.entries())
        t.equal(all[index], wanted, `IPv${family}: ${from} to the service ${name}`);
      const ports = await Promise.all(
        (['own', 'shared'] as const).flatMap((name) =>
          ['node-1', 'node-2'].map(async (node) => [node, await seen(OUTSIDE, at(node), SERVICES[name].nodePort)]),
        ),
      );
      for (const [node = '', source] of ports) t.equal(source, at(node), `IPv${family}: NodePort of ${node}`);
    }
    const internet = lab.place(INTERNET).ips[0] ?? '';
    const gateway = lab.place(NAT_GATEWAY).ips[0];
    for (const from of ['shared', 'own']) t.equal(await seen(from, internet), gateway, `${from} to the internet`);
  });
}
