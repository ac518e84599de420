/**
 * B54: the metadata service wants a session token that ends early, shows a new ENI late, or answers with an error page, an empty body or
 * not at all; code crashed on it, waited without saying for what, or leaked a connection a request.
 *
 * A pod's gateway comes from the cloud's vSwitch and an ENI is in use when its device is there, so that what the service says late or
 * wrongly delays and misleads nobody; only a node that does not know itself yet has to wait for it, and says so.
 */
import t, { type Test } from 'tap';
import { metadataService } from '../../src/adapters/metadata/metadata-service.ts';
import type { RunningCloud } from '../../src/lab/cloud/run-cloud.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';
import { delays, INSTANCE } from './rig.ts';
import { type SomeNode, severalNodes } from './several-nodes.ts';
import { atLeast, sped } from './speed.ts';

const READS = 500;
const AT_ONCE = 25;
/** Requests that the client has under way at most; fetch opens some more connections than that, and each has two ends in this process. */
const REQUESTS_MAX = 16;
const SOCKETS_MAX = 2 * 2 * REQUESTS_MAX;
const GATEWAY = '192.168.0.253';
const META_DATA = '/latest/meta-data';
const ADD_WITHIN_MS = atLeast(20_000, 110_000);

async function scene(t: Test, late: Parameters<typeof delays>[0] = {}) {
  const topology = defaultTopology('lab.small', 1);
  const instances = topology.instances.map((one) => ({ ...one, httpTokens: 'required' as const }));
  const { cloud, nodes } = await severalNodes(t, 1, {
    topology: { ...topology, instances },
    cloud: { metadataTokenMaxSeconds: 1, ...delays(late) },
    settings: { maxIdle: 5, minEniAgeMs: 0 },
  });
  const admin = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${cloud.adminUrl}/${path}`, { method, ...(body && { body: JSON.stringify(body) }) });
    if (!answer.ok) throw new Error(await answer.text());
  };
  return {
    ...{ cloud, node: nodes[0] as SomeNode },
    plant: (...faults: object[]) =>
      admin(
        'POST',
        'faults',
        faults.map((fault) => ({ api: 'Metadata', ...fault })),
      ),
    mend: () => admin('DELETE', 'faults'),
    forgetTokens: () => admin('POST', 'change', { change: 'forgetMetadataTokens', instanceId: INSTANCE }),
  };
}

const reads = (cloud: RunningCloud) => cloud.live.metadataLedger.read(0, null);
const sockets = () => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
const gatewayOf = (node: SomeNode) =>
  node.system.introspection.report().leases.map(({ grant }) => grant.eni.subnet.gateway);

t.test(
  'B54: 500 reads with tokens that end early: one renewal for each need, and no socket is left over',
  async (t) => {
    const { cloud, forgetTokens } = await scene(t);
    const metadata = metadataService({ baseUrl: `${cloud.url}/metadata/${INSTANCE}`, pauseMs: 5 });
    const inTurns = async () => {
      for (let done = 0; done < READS / 2; done += AT_ONCE * 8)
        await Promise.all(Array.from({ length: AT_ONCE }, () => metadata.identity(AbortSignal.timeout(60_000))));
    };
    const before = sockets();
    await inTurns();
    await forgetTokens();
    await inTurns();
    const after = sockets();
    const all = reads(cloud);
    const issued = all.filter(({ params, outcome }) => params.Method === 'PUT' && outcome === 'ok');
    const refused = all.filter(({ outcome }) => outcome === '401');
    t.ok(all.length >= READS, `${all.length} reads`);
    t.ok(refused.length > 0, 'tokens were refused');
    // Each second one ends, and once all were forgotten.
    const lastedMs = (all.at(-1)?.atMs ?? 0) - (all[0]?.atMs ?? 0);
    t.ok(issued.length <= 3 + lastedMs / 1_000, `${issued.length} tokens in ${lastedMs} ms`);
    t.ok(after <= before + SOCKETS_MAX, `${before} sockets before, ${after} after`);
  },
);

t.test(
  'B54: a node that cannot hear who it is waits, names what is missing, and serves as soon as it can',
  async (t) => {
    const { node, plant, mend } = await scene(t);
    await plant({ effect: 'drop', how: 'close', times: 100_000 });
    node.start();
    const report = () => node.system.introspection.report();
    const whileAway = async (what: string) => {
      await new Promise((resolve) => setTimeout(resolve, sped(20_000)));
      t.notMatch(report().state, /\.serving/, what);
      t.ok(report().missing.length > 0, `${what}: missing ${report().missing.join(', ')}`);
    };
    await whileAway('connections are closed');
    t.match(report().missing.join(), /metadata/, 'it names the service');
    await mend();
    await plant({ effect: 'reply', contentType: 'text/html', body: '<html>login</html>', times: 100_000 });
    await whileAway('a page of something else');
    await mend();
    await plant({ effect: 'reply', body: '', times: 100_000 });
    await whileAway('empty answers');
    await mend();
    await plant({ effect: 'fail', code: 'x', status: 429, times: 30 });
    await node.system.whenServing(AbortSignal.timeout(ADD_WITHIN_MS));
    await node.add('first', ADD_WITHIN_MS);
    t.strictSame(gatewayOf(node), [GATEWAY]);
  },
);

t.test(
  'B54: a new ENI is shown late, with a wrong gateway, or not at all: pods do not wait and are told no lie',
  async (t) => {
    const { cloud, node, plant } = await scene(t, { metadataMacMs: 20_000, metadataAddressMs: 10_000 });
    node.start();
    await node.system.whenServing(AbortSignal.timeout(ADD_WITHIN_MS));
    const lies = [
      { effect: 'reply', body: '' },
      { effect: 'reply', contentType: 'text/html', body: '<html>error</html>' },
      { effect: 'reply', body: 'undefined' },
      { effect: 'drop', how: 'hang' },
      { effect: 'fail', code: 'x', status: 404 },
    ];
    const eniOf = async (pod: string) => (await node.add(pod, ADD_WITHIN_MS)).grant.eni.mac;
    const mac = await eniOf('first');
    const shown = cloud.model.metadata(INSTANCE, cloud.live.nowMs())?.enis.some((eni) => eni.mac === mac);
    t.equal(shown, false, 'the first pod runs before the service shows its ENI');
    for (const lie of lies) {
      for (const leaf of ['gateway', 'vswitch-cidr-block', 'private-ipv4s'])
        await plant({ ...lie, params: { Path: `${META_DATA}/network/interfaces/macs/${mac}/${leaf}` }, times: 3 });
    }
    for (const pod of ['second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth']) await eniOf(pod);
    t.strictSame(new Set(gatewayOf(node)), new Set([GATEWAY]), 'no gateway but the right one');
    t.match(node.system.introspection.report().state, /serving/);
  },
);
