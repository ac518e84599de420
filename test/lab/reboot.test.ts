/**
 * P8: a node goes down under its pods and boots: namespaces and kernel objects are gone, the ENIs come back under other names, metadata service and
 * API server are late, DELs of the old sandboxes cross the ADDs of the new ones. All pods run again, every path works, and no address is lost or given twice.
 */
import './in-box.ts';

import t, { type Test } from 'tap';
import { tryPath } from '../../src/lab/checks/try-paths.ts';
import { type Lab, startLab } from '../../src/lab/lab.ts';

t.setTimeout(120_000);

t.test('P8, lab: a reboot of a full node costs its pods their sandboxes and nothing more', async (t) => {
  const lab = await startLab({ nodes: 2, instanceType: 'lab.small', config: { cool_down: '1s' } });
  try {
    await rebooted(t, lab);
  } finally {
    t.strictSame(await lab.stop(), [], 'nothing is left behind');
  }
});

/** Enough for several tries to hear who it is, and to list its pods. */
const [LATE_READS, LATE_REQUESTS] = [8, 12];

async function rebooted(t: Test, lab: Lab): Promise<void> {
  const [node, other] = lab.nodes.map(({ name }) => name) as [string, string];
  // All that the node can hold, so that the dead leases have to make way.
  const names = Array.from({ length: 12 }, (_, index) => `p${index}`);
  for (const name of names) await lab.addPod(name, node);
  await lab.addPod('far', other);
  const before = new Map(names.map((name) => [name, lab.pods.get(name)?.sandbox?.containerId]));
  const devices = new Map(
    lab.node(node).dir === ''
      ? []
      : ((await lab.node(node).report())?.enis ?? []).map((eni) => [eni.eniId, eni.device]),
  );

  // Whom the booting node asks is late too.
  const { faults } = lab.cloud.live.gateway;
  const late = faults.plant({ api: 'Metadata', effect: 'drop', how: 'close', times: LATE_READS, params: {} });
  lab.api.admin.failNext({ count: LATE_REQUESTS, code: 503 });
  const pods = await lab.rebootNode(node);
  t.notOk(
    faults.list().some(({ id, left }) => id === late && left > 0),
    'the metadata service was late',
  );
  t.strictSame(pods.map(({ name }) => name).sort(), [...names].sort());
  for (const pod of pods) t.not(pod.sandbox?.containerId, before.get(pod.name), `${pod.name} has a new sandbox`);
  t.equal(new Set(pods.flatMap(({ ips }) => ips)).size, names.length, 'no address twice');
  const report = await lab.node(node).report();
  t.equal(report?.leases.length, names.length, 'no lease of the old sandboxes is left');
  t.match(report?.state, /serving/);
  for (const eni of report?.enis ?? []) t.not(eni.device, devices.get(eni.eniId), `${eni.eniId} is under another name`);
  for (const name of names) {
    const { worked, why } = await tryPath(lab, { from: name, to: 'far' });
    t.ok(worked, `${name} reaches far: ${why}`);
  }
  t.strictSame(lab.refused().routingFault ?? 0, 0);
  await t.rejects(lab.rebootNode('nobody'), /no node nobody/);
}
