/**
 * The whole life of an installation on two nodes, from the images to an empty node: apply, pods, a rolling update and a roll-back under load, what may
 * befall a node meanwhile (B20, B37, B41), out to Terway and in again, drain and uninstall. Nothing is taken from this tree but the images and deploy/.
 *
 * What speaks to the cluster is typed as deploy/install.md, terway.md and operation.md have it. The second node is a hardened one (B37). Readiness is asked every 200 ms from the first pods
 * until the roll-back is over.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { parseBundle } from '../../src/core/support-bundle.ts';
import type { Netns } from '../../src/lab/netns/netns.ts';
import type { Judge } from '../lab/whole-path.ts';
import { WEB_PORT } from '../runtime/busybox-image.ts';
import type { CriPod } from '../runtime/cri-node.ts';
import { inNetns, inPod, type Shell, serveWho, whoAnswers } from '../runtime/who-answers.ts';
import { Churn } from './churn.ts';
import { flushedBySomebody } from './flushed-by-somebody.ts';
import type { Image } from './images.ts';
import { nobodyAnswers, type Who } from './nobody-answers.ts';
import { nodeAsItIs, whatIsLeft } from './node-before.ts';
import { outAndIn, TERWAYS_OWN } from './out-and-in.ts';
import { COMMANDS, PAGE, TERWAY } from './page.ts';
import { PingWatch } from './ping-watch.ts';
import { Stage, type StageNode } from './stage.ts';
import { StatusWatch } from './status-watch.ts';
import { ForeignDevices, forwards, harden, PRIMARY, strictness } from './strict-host.ts';
import { until } from './until.ts';

/** More than the four addresses of one ENI of the lab's instances: these pods have two. */
const PODS_ON_TWO_ENIS = 5;

/** deploy/install.md, "Uninstall": what the kernel was told of a primary card that was strict stays until the next boot. */
const STAYS = ['2', '1'].map(
  (value, at) => `sysctls: ${at === 0 ? '+' : '-'} net/ipv4/conf/${PRIMARY}/rp_filter = ${value}`,
);

export type Life = {
  readonly judge: Judge;
  readonly say: (line: string) => void;
  readonly image: Image;
  readonly next: Image;
  /** Pods that come and go at a time on each node. */
  readonly load: number;
  /** Between two tries of a kubelet: 10 s and more on a real node. */
  readonly kubeletPauseMs: number;
  /** Whether all nodes are updated at once, or as many at a time as the manifest says: one. */
  readonly atOnce: boolean;
  /** Of B20: pods that come and go under somebody who flushes. */
  readonly pairs: number;
  /** Of B41: who is away, one outage after the other. */
  readonly outages: readonly (readonly Who[])[];
};

export async function lifeOfTwoNodes(life: Life): Promise<void> {
  const { judge, say, image, next } = life;
  const stage = await Stage.open({ nodes: 2, images: [image, next], say });
  try {
    await live(stage, life);
  } catch (error) {
    judge.fail(error instanceof Error ? error.message : String(error));
    say(await stage.logs());
  } finally {
    judge.strictSame(await stage.close(), [], 'the stage went down in order');
  }
}

async function live(stage: Stage, life: Life): Promise<void> {
  const { judge, say, image, next, load, kubeletPauseMs, atOnce, pairs, outages } = life;
  const [first, second] = stage.pair();
  for (const { node } of stage.nodes) forwards(node);
  await harden(second.node);
  const strict = strictness(second.node);
  const before = stage.nodes.map(({ node }) => nodeAsItIs(node));

  say(`deploy/install.md is followed by ${stage.hands.name}`);
  await stage.apply(image);
  for (const [command, said] of [
    [PAGE.pods, /^enactor-\S+ +1\/1 +Running +\S+ +\S+ +node-1/m],
    [PAGE.doctor, /^API server +ok/m],
    [PAGE.status, /^node +serving/m],
    [PAGE.installLog, /enactor-cni/],
    [PAGE.bundle, /^$/],
  ] as const) {
    const printed = await stage.hands.type(command, second.node.name);
    if (!stage.hands.left.has(command)) judge.match(printed, said, command);
  }
  judgeBundle(stage, judge, second.node.name);
  await Promise.all(stage.nodes.map(({ node }) => node.containerd.whenNetworkReady()));
  say('both nodes are ready by the runtime’s own word');

  const here = [await stage.pod(first, 'here-1'), await stage.pod(first, 'here-2')];
  const there: LoggedPod[] = [];
  for (let nth = 1; nth <= PODS_ON_TWO_ENIS; nth += 1) there.push(await stage.pod(second, `there-${nth}`));
  await judgePaths(stage, judge, { first: here, second: there });
  judge.strictSame(strictness(second.node), strict, 'B37: settings that are not ours are as they were');
  say(`${here.length + there.length} pods run, and reach each other, the nodes and a machine elsewhere`);

  const statuses = stage.nodes.map(({ node }) => new StatusWatch(node));
  const pings = await startPings(first, second, here, there);
  const foreign = new ForeignDevices(second.node);
  const churns = stage.nodes.map((on) => {
    const pause = () => stage.pause(on, kubeletPauseMs);
    const anchor = at(on === first ? here : there, 0);
    return new Churn(on.pods, anchor, { atATime: load, prefix: on.node.name, pause });
  });
  for (const [to, word] of [
    [next, 'updates to'],
    [image, 'rolls back to'],
  ] as const) {
    say(`the cluster ${word} ${to.version}`);
    // The page: another tag is applied; back goes by the tag, or at once by the history.
    stage.deploy.nameImage(to);
    if (atOnce) stage.deploy.edit('base/daemonset.yaml', 'maxUnavailable: 10%', 'maxUnavailable: 100%');
    await stage.hands.type(to === next ? PAGE.apply : PAGE.undo);
    await stage.hands.type(PAGE.rolledOut);
    for (const on of stage.nodes) judge.equal(await versionOf(on), to.version, `${on.node.name} runs ${to.version}`);
  }
  await Promise.all(churns.map((churn) => churn.stop()));
  await foreign.stop();
  await Promise.all(statuses.map((status) => status.stop()));

  for (const churn of churns) {
    judge.strictSame(churn.failures, [], 'no ADD failed beyond one retry, and each pod was reached');
    judge.ok(churn.lived > 0, `${churn.lived} pods came and went`);
  }
  for (const ping of pings) await judgeStopped(ping, judge);
  for (const status of statuses)
    judge.strictSame(status.flaps, [], `of ${status.asked} questions none was told "not ready"`);
  judge.equal(stage.lab.refused().routingFault, 0, 'no packet left by a wrong ENI');
  const counted = churns.map(({ lived, retried }) => `${lived} pods (${retried.length} tried again)`).join(' and ');
  say(`meanwhile ${counted} came and went, and ${foreign.pairs} foreign pairs of devices`);

  await flushedBySomebody(stage, first, { judge, pods: here, far: at(there, 0), pairs });
  say('what somebody flushed is there again');
  let now: readonly CriPod[] = there;
  for (const away of outages) {
    now = await nobodyAnswers(stage, second, { judge, pods: now, away });
    say(`the daemon was killed and started while ${away.join(', ')} was away`);
  }

  const { cri } = first.node.containerd;
  const meanwhile = await Promise.all(
    [at(here, 1), at(now, 0)].map((to) =>
      PingWatch.start(cri, at(here, 0), `${to.name}-meanwhile`, to.ip, at(here, 0).logs),
    ),
  );
  const wasTerways = await outAndIn(stage, first, { judge, say, image });
  for (const ping of meanwhile) await judgeStopped(ping, judge);
  for (const each of here)
    judge.equal(await first.pods.sourceSeen(each, at(now, 0)), each.ip, `${each.name} reaches out`);

  await uninstall(stage, { judge, say });
  stage.nodes.forEach(({ node }, index) => {
    const isTerways = (line: string) => TERWAYS_OWN.some((path) => `${line} `.startsWith(`disk: + /${path}`));
    const left = whatIsLeft(before[index] ?? {}, node);
    const ours = left.filter((line) => !isTerways(line));
    judge.strictSame(ours, node === second.node ? STAYS : [], `${node.name}: nothing is left`);
    const theirs = wasTerways && node === first.node ? TERWAYS_OWN.length : 0;
    judge.equal(left.length - ours.length, theirs, `${node.name}: what is Terway’s stays: ${left.filter(isTerways)}`);
  });
  const ours = stage.lab.truth().enis.filter(({ type }) => type === 'Secondary');
  judge.strictSame(ours, [], 'no ENI is left in the cloud');
}

/** Once the last answer has come. */
async function judgeStopped(ping: PingWatch, judge: Judge): Promise<void> {
  await ping.fresh();
  const { answers, missing } = ping.seen();
  judge.strictSame(missing, [], `ping ${ping.name}: each of ${answers} was answered`);
  await ping.stop();
}

function startPings(first: StageNode, second: StageNode, here: readonly LoggedPod[], there: readonly LoggedPod[]) {
  const start = (on: StageNode, from: LoggedPod, to: CriPod) =>
    PingWatch.start(on.node.containerd.cri, from, to.name, to.ip, from.logs);
  return Promise.all([
    start(first, at(here, 0), at(here, 1)),
    start(first, at(here, 0), at(there, 0)),
    start(second, at(there, 0), at(here, 0)),
    start(second, at(there, 0), at(there, PODS_ON_TWO_ENIS - 1)),
  ]);
}

type LoggedPod = CriPod & { readonly logs: string };

/** Every path of B37: pod to pod on one node (across its ENIs) and on another, to a node, to a machine elsewhere, and all of them the other way. */
async function judgePaths(
  { lab, nodes }: Stage,
  judge: Judge,
  pods: { readonly first: readonly CriPod[]; readonly second: readonly CriPod[] },
): Promise<void> {
  const [first, second] = nodes;
  const [elsewhere] = lab.hosts;
  if (first === undefined || second === undefined || elsewhere === undefined)
    throw new Error('the lab has two nodes and a machine');
  const machines: readonly { name: string; netns: Netns; ip: string }[] = [
    { name: first.node.name, netns: first.node.lab.guest.netns, ip: first.node.lab.nodeIp },
    { name: second.node.name, netns: second.node.lab.guest.netns, ip: second.node.lab.nodeIp },
    { name: elsewhere.name, netns: elsewhere.netns, ip: elsewhere.ips[0] ?? '' },
  ];
  const ends = await Promise.all(machines.map(({ netns, name }) => serveWho(netns, name)));
  try {
    const ofPod = (on: StageNode) => (pod: CriPod) => ({ name: pod.name, ip: pod.ip, shell: inPod(on.pods, pod) });
    const places: readonly { name: string; ip: string; shell: Shell }[] = [
      ...pods.first.map(ofPod(first)),
      ...pods.second.map(ofPod(second)),
      ...machines.map(({ name, netns, ip }) => ({ name, ip, shell: inNetns(netns) })),
    ];
    const wrong: string[] = [];
    for (const from of places) {
      const others = places.filter((each) => each !== from && !(isMachine(from.name) && isMachine(each.name)));
      const answers = await whoAnswers(
        from.shell,
        others.map(({ ip }) => ({ address: ip, port: WEB_PORT })),
      );
      answers.forEach((answer, index) => {
        const to = others[index]?.name ?? '';
        if (answer?.place !== to) wrong.push(`${from.name} to ${to}: ${answer?.place ?? 'no answer'}`);
        // A node reaches its own pods by whichever address of its own the kernel likes.
        else if (answer.sourceSeen !== from.ip && !isMachine(from.name))
          wrong.push(`${from.name} to ${to}: seen as ${answer.sourceSeen}`);
      });
    }
    judge.strictSame(wrong, [], `every path between ${places.length} places works, with the right source`);
  } finally {
    await Promise.all(ends.map((end) => end()));
  }
  function isMachine(name: string): boolean {
    return machines.some((machine) => machine.name === name);
  }
}

/** What `on_node NODE enactor support --out -` has written: whole, through a container whose root cannot be written. */
function judgeBundle({ hands, deploy }: Stage, judge: Judge, nodeName: string): void {
  if (!hands.typed.has(PAGE.bundle)) return;
  const bytes = readFileSync(join(deploy.folder, `${nodeName}.json.gz`));
  const bundle = parseBundle(gunzipSync(bytes).toString()) as unknown as {
    readonly life: { readonly settings: { readonly nodeName: string } };
  };
  judge.equal(bundle.life.settings.nodeName, nodeName, 'the bundle is that node’s');
}

/** What the image of the running daemon calls itself. */
async function versionOf({ daemon }: StageNode): Promise<string> {
  const said = await daemon?.exec('enactord', ['/usr/bin/node', '-p', "require('/app/package.json').version"]);
  return said?.stdout.trim() ?? '';
}

/** deploy/install.md, "Uninstall", step by step. */
async function uninstall(stage: Stage, { judge, say }: Pick<Life, 'judge' | 'say'>): Promise<void> {
  const { hands, nodes } = stage;
  await Promise.all(nodes.map((on) => stage.drain(on)));
  say('drained');
  stage.deploy.configure({ min_pool_size: 0, max_pool_size: 0 });
  await hands.type(PAGE.apply);
  for (const { node } of nodes)
    await until(`${node.name} gives its ENIs back`, async () => (await node.report())?.enis.length === 0);
  judge.equal(/\beni-/.test(await hands.type(PAGE.enis)), false, 'enactor eni lists none on any node');
  say('the ENIs are given back');
  judge.strictSame(
    stage.lab.api.admin.denied,
    [],
    'the API server refused the daemons nothing: permissions.yaml has it all',
  );
  await hands.type(TERWAY.noWayBack);
  await hands.type(PAGE.remove);
  await hands.type(PAGE.clean);
  await hands.type(PAGE.cleaned);
  await hands.type(PAGE.cleanLog);
  for (const { node, agent } of nodes) {
    const said = agent.podOf('enactor-uninstall')?.log('uninstall') ?? '';
    judge.match(said, /nothing of enactor is left on this node/, `${node.name}: uninstall says so`);
  }
  await hands.type(PAGE.removeClean);
  for (const set of ['enactor', 'enactor-uninstall']) await stage.whenNoneRuns(set);
  const done = [...hands.typed, ...hands.left];
  if (hands.typed.size > 0)
    judge.strictSame(
      COMMANDS.filter((command) => !done.includes(command)),
      [],
      'each command of the pages was typed',
    );
  for (const command of hands.left) say(`NOT TYPED, since ${hands.name} cannot: ${command}`);
  say('uninstalled');
}

function at<T>(list: readonly T[], index: number): T {
  const one = list[index];
  if (one === undefined) throw new RangeError(`there is no number ${index}`);
  return one;
}
