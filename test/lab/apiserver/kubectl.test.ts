/** A real kubectl against the lab's API server: what deploy/install.md has typed, and what goes wrong when a manifest is misspelt. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { test } from 'tap';
import { known } from '../../../src/lab/apiserver/resource.ts';
import { type Rendered, render, YAML_1_1 } from '../../e2e/kustomize.ts';
import { ON_NODE, WEB_SOCKET_SINCE } from '../../e2e/page.ts';
import { Kubectl, kubectlVersion } from '../../runtime/kubectl.ts';
import { refuseUnknownFields } from '../../runtime/unknown-fields.ts';
import { cluster } from './client.ts';

const skip = kubectlVersion() === null && 'NOT RUN: there is no kubectl (Debian: kubernetes-client)';
const OVERLAY = 'overlays/eni-multi-ip';

test('kubectl: an overlay is applied, applied again without a change, patched, and deleted', { skip }, async (t) => {
  const { server } = await cluster(t, { checkFields: refuseUnknownFields });
  const folder = t.testdir();
  const kubectl = new Kubectl(server, join(folder, 'home'));
  const deploy = join(folder, 'deploy');
  cpSync('deploy', deploy, { recursive: true });
  const edit = (file: string, from: string, to: string) => {
    const text = readFileSync(join(deploy, file), 'utf8');
    t.ok(text.includes(from), `${file} has ${from}`);
    writeFileSync(join(deploy, file), text.replace(from, to));
  };
  const set = () => server.store.get(known('daemonsets'), 'kube-system', 'enactor');

  const objects = render(join(deploy, OVERLAY));
  const applied = await kubectl.run('apply', '-k', join(deploy, OVERLAY));
  t.equal(applied.trim().split('\n').length, objects.length);
  t.notMatch(applied, /unchanged|configured/);
  t.notMatch(await kubectl.run('apply', '-k', join(deploy, OVERLAY)), /created|configured/, 'nothing is changed');
  t.equal(set()?.metadata.generation, 1);

  edit('base/kustomization.yaml', 'newTag: 0.1.0', 'newTag: 0.1.1');
  edit('base/daemonset.yaml', '            - --cni-conf-dir=/etc/cni/net.d\n', '');
  edit('base/daemonset.yaml', 'maxUnavailable: 10%', 'maxUnavailable: 2');
  edit('base/permissions.yaml', 'verbs: [create, patch]', 'verbs: [create]');
  const changed = await kubectl.run('apply', '-k', join(deploy, OVERLAY));
  t.strictSame(
    changed.split('\n').filter((line) => / configured$/.test(line)),
    ['clusterrole.rbac.authorization.k8s.io/enactor configured', 'daemonset.apps/enactor configured'],
  );
  t.equal(set()?.metadata.generation, 2);
  const wanted = render(join(deploy, OVERLAY)).find(({ kind }) => kind === 'DaemonSet') as unknown as { spec: object };
  t.strictSame(set()?.spec, wanted.spec, 'the patch gives what the manifest says, and no more');

  edit('base/daemonset.yaml', 'readOnly: true', 'readonly: true');
  // Those before 1.25 leave the checking to nobody.
  if (kubectl.minor >= 25)
    await t.rejects(kubectl.run('apply', '-k', join(deploy, OVERLAY)), {
      message: /unknown field "spec.template.spec.initContainers\[0\].volumeMounts\[0\].readonly"/,
    });
  edit('base/daemonset.yaml', 'readonly: true', 'readOnly: true');

  await kubectl.run('delete', '-k', join(deploy, OVERLAY));
  const left = objects.filter(({ kind, metadata }) => {
    const resource = known(`${kind.toLowerCase()}s`.replace(/ys$/, 'ies'));
    return server.store.get(resource, resource.namespaced ? (metadata.namespace ?? '') : null, metadata.name) !== null;
  });
  t.strictSame(left, []);
});

test('kubectl: get tells of controllers what they have, and knows their short names', { skip }, async (t) => {
  const { server } = await cluster(t);
  const kubectl = new Kubectl(server, t.testdir());
  for (const [plural, spec, status] of [
    ['replicasets', { replicas: 5 }, { replicas: 4, readyReplicas: 3 }],
    ['statefulsets', {}, { replicas: 1 }],
    ['jobs', { completions: 6 }, { succeeded: 2, active: 1 }],
  ] as const) {
    const body = { metadata: { name: 'web' }, spec, status };
    const made = server.lifecycle.create(known(plural), 'default', body);
    t.strictSame(made.status, {}, 'what a body says of it counts as little as of a pod');
    server.lifecycle.update(known(plural), made, { ...made, status }, 'status');
  }
  const row = async (what: string) => (await kubectl.run('get', what, '--no-headers')).trim().split(/ +/).slice(0, -1);
  t.strictSame(await row('rs'), ['web', '5', '4', '3']);
  t.strictSame(await row('sts'), ['web', '0/1']);
  t.strictSame(await row('jobs.batch'), ['web', '2/6']);
});

test('kubectl: renders each folder of deploy/ as the e2e test does', { skip }, async (t) => {
  const { server } = await cluster(t);
  const kubectl = new Kubectl(server, t.testdir());
  if (!kubectl.readsFolders) return void t.pass('', { skip: `NOT RUN: kubectl 1.${kubectl.minor} is before 1.21` });
  const deploy = join(t.testdir(), 'deploy');
  cpSync('deploy', deploy, { recursive: true });
  // As install.md has it: a component is added by taking away its line's comment sign.
  const whole = join(deploy, OVERLAY, 'kustomization.yaml');
  const offered = readFileSync(whole, 'utf8');
  const withAll = offered.replace(/^# (?=components:)/m, '').replace(/^# (?= +- \.)/gm, '');
  t.equal(withAll.match(/^ +- \S+components/gm)?.length, readdirSync('deploy/components').length, 'each is offered');
  writeFileSync(whole, withAll);
  const shipped = [
    'overlays/eni-multi-ip',
    'overlays/ipvlan',
    'overlays/vpc-eni',
    'overlays/vpc-ip',
    'uninstall',
    'give-back',
  ];
  for (const folder of [...shipped.map((one) => `deploy/${one}`), join(deploy, OVERLAY)]) {
    const theirs = loadAll(await kubectl.run('kustomize', folder), null, { schema: YAML_1_1 }) as Rendered[];
    t.strictSame(byName(render(folder).map(unordered)), byName(theirs.map(placed).map(unordered)), folder);
  }
});

test('kubectl: on_node runs a command in the pod of that node, to a pipe as bytes and to a terminal as lines', {
  skip,
}, async (t) => {
  const { server } = await cluster(t);
  const kubectl = new Kubectl(server, t.testdir());
  if (kubectl.minor < WEB_SOCKET_SINCE) return void t.pass('', { skip: 'NOT RUN: kubectl is before 1.30' });
  const said = Buffer.from([0x1f, 0x8b, 0xff, 0x0a, 0x00]);
  for (const node of ['n1', 'n2']) {
    const exec = async (_: unknown, container: string, [program = '', ...words]: readonly string[]) => {
      const text = Buffer.from(`${node} ${container}: ${program} ${words.join(' ')}\nand more\n`);
      return { stdout: words.includes('-') ? said : text, stderr: 'a word', exitCode: 0 };
    };
    t.teardown(server.registerKubelet(node, { log: async () => '', exec }));
    const containers = ['enactord', 'other'].map((name) => ({ name, image: 'a' }));
    const metadata = { name: `enactor-${node}`, labels: { app: 'enactor' } };
    server.lifecycle.create(known('pods'), 'kube-system', { metadata, spec: { nodeName: node, containers } });
  }
  const typed = (line: string) => kubectl.type(`${ON_NODE}\n${line}`);
  t.equal(await typed('on_node n2 enactor why default/web'), 'n2 enactord: enactor why default/web\nand more\n');
  const bundle = await typed('on_node n1 enactor support --out - | od -An -tx1');
  t.equal(bundle.trim(), said.toString('hex').replaceAll(/(?<=..)(?=(..)+$)/g, ' '));
  const quoted = `${ON_NODE}\non_node n1 enactor leases`.replaceAll("'", `'\\''`);
  const shown = await kubectl.type(`script -qec '${quoted}' /dev/null`);
  t.match(shown, 'n1 enactord: enactor leases\r\nand more\r\n');
});

const byName = (objects: readonly Rendered[]) =>
  Object.fromEntries(objects.map((object) => [`${object.kind}/${object.metadata.name}`, object]));

/** Lists that are merged by their elements' names: kustomize puts what is new first, the API server last; both say the same. */
function unordered(object: Rendered): Rendered {
  return JSON.parse(JSON.stringify(object), (_, value) =>
    Array.isArray(value) && value.every((one) => typeof one?.name === 'string')
      ? value.toSorted((a, b) => (a.name + a.mountPath < b.name + b.mountPath ? -1 : 1))
      : value,
  ) as Rendered;
}

/** kustomize 5.5 takes admission policies for things of a namespace; the API server does not. */
function placed(object: Rendered): Rendered {
  if (!object.kind.startsWith('ValidatingAdmission')) return object;
  const { namespace: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}
