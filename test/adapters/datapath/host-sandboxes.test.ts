/** What the host knows of a sandbox, against the kernel's own namespaces. Wrong answers cost live pods their address (B17). */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { HostSandboxes } from '../../../src/adapters/datapath/host-sandboxes.ts';
import { PodNamespace } from '../../../src/adapters/datapath/pod-namespace.ts';
import { PodNetwork } from '../../../src/adapters/datapath/pod-network.ts';
import { podPlan } from '../../../src/adapters/datapath/pod-plan.ts';
import { sandboxDevice } from '../../../src/adapters/datapath/sandbox-device.ts';
import type { Sandbox } from '../../../src/core/sandbox.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../netlink/namespaces.ts';

const skip = cannotMakeNamespaces();
const IPS = ['192.168.0.10', 'fd00::10'];

const sandboxOf = (netns: string, containerId = 'sandbox-1'): Sandbox => ({
  ...{ containerId, ifName: 'eth0', netns, network: 'net' },
  pod: { namespace: 'default', name: 'web-0', uid: null },
});

/** A host, and what is asked of it. */
function askable(t: Test) {
  const host = new TestNamespace(t, 'host');
  const asked = (sandbox: Sandbox, ips: readonly string[] = []) =>
    host.run(() => new HostSandboxes(libc).isThere(sandbox, ips));
  return { host, asked };
}

/** As the plugin attaches a pod. */
function attached(t: Test, host: TestNamespace) {
  const pod = new TestNamespace(t, 'pod');
  const sandbox = sandboxOf(pod.path);
  const namespace = new PodNamespace(libc, pod.path);
  const plan = podPlan({ sandbox, ips: IPS, routeTable: 1007, mtu: 1400, defaultRoute: true });
  const { hostName } = host.run(() => new PodNetwork(libc).attach(plan, namespace));
  namespace.close();
  return { pod, sandbox, hostName };
}

test('sandboxes: a namespace is there as long as it is mounted, also an empty one', { skip }, async (t) => {
  const { host, asked } = askable(t);
  const pod = new TestNamespace(t, 'pod');
  const sandbox = sandboxOf(pod.path);
  const before = host.state();
  t.equal(await asked(sandbox), true);
  execFileSync('umount', ['--lazy', pod.path]);
  t.equal(await asked(sandbox), false, 'the file that was under the mount is still there and tells nothing');
  pod.remove();
  t.equal(await asked(sandbox), false);
  t.equal(host.state(), before, 'asking changes nothing');
});

test('sandboxes: paths that tell nothing about a pod', { skip }, async (t) => {
  const { asked } = askable(t);
  const directory = mkdtempSync(join(tmpdir(), 'enactor-sandboxes-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const plain = join(directory, 'plain');
  writeFileSync(plain, '');
  for (const path of ['', '/run/netns/enactor-absent', plain, directory, `${plain}/below`, '/proc/self/ns/net'])
    t.equal(await asked(sandboxOf(path)), false, path);
  t.equal(
    await asked(sandboxOf(`/proc/${process.pid}/ns/net`)),
    false,
    'the number of a process that lives may be another one’s than the pod’s',
  );
});

test('sandboxes: the host end speaks for a namespace whose path is unknown, gone, or not seen from here', {
  skip,
}, async (t) => {
  const { host, asked } = askable(t);
  const { pod, sandbox, hostName } = attached(t, host);
  const pathless = { ...sandbox, netns: '' };
  t.equal(await asked(pathless), true);
  t.equal(await asked({ ...sandbox, netns: '/proc/1/ns/net' }), true);
  host.ip('link', 'set', hostName, 'name', 'renamed0');
  t.equal(await asked(pathless), true, 'also under a name that somebody gave it: its MAC is what tells');
  t.equal(await asked(sandboxOf('', 'sandbox-2')), false, 'a new sandbox of the same pod is not the old one');
  host.ip('link', 'set', 'renamed0', 'name', hostName);
  t.equal(await asked(sandboxOf('', 'sandbox-2')), false, 'nor where it has the name that both could have');
  pod.ip('link', 'del', 'eth0');
  t.equal(await asked(pathless), false, 'the pair died, as it does with the namespace');
  t.equal(await asked(sandbox), true, 'while the namespace is mounted the pod is there, whatever was done in it');
});

test('sandboxes: the namespace that dies takes its host end along: then nothing is there', { skip }, async (t) => {
  const { host, asked } = askable(t);
  const { pod, sandbox, hostName } = attached(t, host);
  t.equal(await asked(sandbox, IPS), true);
  pod.remove();
  // The kernel takes a namespace apart a moment after its last user has gone.
  for (const endMs = Date.now() + 20_000; host.ip('-o', 'link').includes(hostName) && Date.now() < endMs; )
    await new Promise((resolve) => setTimeout(resolve, 10));
  t.notMatch(host.ip('-o', 'link'), new RegExp(hostName));
  t.match(host.ip('rule'), /192\.168\.0\.10/, 'rules outlive the pod, and speak for nobody');
  t.equal(await asked(sandbox, IPS), false);
});

test('sandboxes: a pod that Terway’s plugin made is known by the route to its address, in both families', {
  skip,
}, async (t) => {
  const { host, asked } = askable(t);
  const sandbox = sandboxOf('');
  const [name] = sandboxDevice(sandbox).hostNames;
  host.ip('link', 'add', name, 'type', 'veth', 'peer', 'name', 'podside');
  host.ip('link', 'add', 'docker7', 'type', 'veth', 'peer', 'name', 'docker7p');
  for (const device of [name, 'docker7']) host.ip('link', 'set', device, 'up');
  t.equal(await asked(sandbox, IPS), false, 'a name is no mark, and no route leads to it');
  for (const [ip, prefix] of [
    ['192.168.0.10', 32],
    ['fd00::10', 128],
  ] as const) {
    const route = `${ip}/${prefix}`;
    for (const foreign of ['docker7', 'lo']) {
      host.ip('route', 'add', route, 'dev', foreign);
      t.equal(await asked(sandbox, IPS), false, `${route} to ${foreign} leads to no pod`);
      host.ip('route', 'del', route, 'dev', foreign);
    }
    host.ip('route', 'add', route, 'dev', name, 'table', '77');
    t.equal(await asked(sandbox, IPS), false, `${route} in another table`);
    host.ip('route', 'add', route, 'dev', name, 'table', '1007');
    t.equal(await asked(sandbox, IPS), true, `${route} in that of an ENI, as of v1.0.10`);
    host.ip('route', 'del', route, 'dev', name, 'table', '1007');
    host.ip('route', 'add', route, 'dev', name);
    t.equal(await asked(sandbox, IPS), true, route);
    t.equal(await asked(sandbox, ['192.168.0.11', 'fd00::11']), false, 'another address');
    t.equal(await asked(sandbox), false, 'whose addresses are not known has no route to look for');
    host.ip('route', 'del', route, 'dev', name);
  }
  host.ip('route', 'add', '192.168.0.0/24', 'dev', name);
  t.equal(await asked(sandbox, IPS), false, 'a route to a whole net is none to the pod');
});

test('sandboxes: a host that cannot be asked is an error and never "gone"', { skip }, async (t) => {
  const broken = { ...libc, socket: () => -24 };
  const refused = new HostSandboxes(broken as typeof libc).isThere(sandboxOf(''), IPS);
  await t.rejects(refused, { code: 'device', message: /what is left of sandbox sandbox-1/ });
});
