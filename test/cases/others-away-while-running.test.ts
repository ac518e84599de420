/**
 * API server, cloud, metadata service, and all three are cut for a while under a daemon that runs. Who runs keeps its network (what somebody flushes is
 * repaired as ever), DEL works, ADD does as deploy/operation.md says under "When others are away", and all is whole soon after, by the same process.
 *
 * B41 is the same with daemons that start meanwhile.
 */
import '../lab/in-box.ts';

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { podRules } from '../../src/adapters/datapath/pod-plan.ts';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../src/adapters/netlink/netlink.ts';
import { deleteRule } from '../../src/adapters/netlink/wire/rule.ts';
import { call, machine } from '../daemon/machine.ts';
import { podOnHost } from '../daemon/pod-on-host.ts';
import { TcpDoor } from '../daemon/tcp-door.ts';
import { SPEED } from './speed.ts';

t.setTimeout(SPEED > 1 ? 180_000 : 3_600_000);

/** As long as it takes to look, or five minutes. */
const AWAY_MS = SPEED > 1 ? 400 : 300_000;
const config = {
  ...{
    cool_down: '0s',
    min_pool_size: 3,
    max_pool_size: 4,
    backoff: '100ms',
    backoff_max: '500ms',
    call_timeout: '1s',
  },
  ...{ gc_period: '300ms', gc_grace: '300ms', cloud_period: '300ms', kernel_period: '500ms', kernel_gather: '20ms' },
};
const text = (body: unknown): string => JSON.stringify(body);

t.test(
  'others away: who runs goes on, DEL works, ADD does as it is said, and it becomes whole by itself',
  async (t) => {
    const here = await machine(t, config);
    const [api, cloud, metadata] = await Promise.all([here.api.url, here.cloud.url, here.cloud.url].map(TcpDoor.to));
    if (api === undefined || cloud === undefined || metadata === undefined) throw new Error('no doors');
    const doors = { api, cloud, metadata };
    t.teardown(() => Promise.all(Object.values(doors).map((door) => door.close())));
    const kubeconfig = join(here.dir, 'kubeconfig');
    const through = readFileSync(kubeconfig, 'utf8').replaceAll(new URL(here.api.url).host, `127.0.0.1:${api.port}`);
    writeFileSync(kubeconfig, through);
    const daemon = here.start({
      cloudUrl: `http://127.0.0.1:${cloud.port}`,
      metadataUrl: `http://127.0.0.1:${metadata.port}`,
    });
    await daemon.serving();
    const socket = here.paths.jsonSocket;
    const held = new Map<string, string>();
    const add = async (pod: string, uid: string) => await call(socket, 'AllocIP', pod, { PodUid: uid });
    for (const pod of ['runs', 'goes-1', 'goes-2', 'goes-3', 'goes-4']) {
      const answer = await add(pod, here.addPod(pod));
      t.equal(answer.status, 200);
      held.set(pod, text(answer.body));
    }

    // One that runs, with what the plugin has made for it.
    const host = new Netlink(openKoffiLibc());
    t.teardown(() => host.close());
    const running = (await daemon.report()).leases.find(({ sandbox }) => sandbox.pod.name === 'runs');
    if (running === undefined) throw new Error('no lease');
    const { address, eni } = running.grant;
    podOnHost(host, running.sandbox, address.ipv4, eni.device.routeTable);
    const ruled = () => host.rules(4).filter((rule) => text(rule).includes(`"${address.ipv4}"`)).length;
    t.equal(ruled(), 2);

    const outages: Readonly<Record<string, readonly (keyof typeof doors)[]>> = {
      'the API server': ['api'],
      'the cloud': ['cloud'],
      'the metadata service': ['metadata'],
      'all of them': ['api', 'cloud', 'metadata'],
    };
    let nth = 0;
    for (const [who, away] of Object.entries(outages)) {
      nth += 1;
      const known = `known-${nth}`;
      const knownUid = here.addPod(known);
      await daemon.until(async () => {
        const { pool, podWatch } = await daemon.report();
        return (pool?.counts.idle ?? 0) >= 3 && podWatch?.awaySinceMs === null;
      });
      // The watch has told of the pod when one that came after it is counted in: its own ADD would ask the API server otherwise.
      await new Promise((resolve) => setTimeout(resolve, 300));
      for (const name of away) doors[name].cut();
      const unknown = `unknown-${nth}`;
      const unknownUid = here.addPod(unknown);
      if (away.includes('api')) await daemon.until(async () => (await daemon.report()).podWatch?.awaySinceMs !== null);

      const seen = await add(known, knownUid);
      t.equal(seen.status, 200, `${who} away: a pod that the watch has told of gets an address`);
      held.set(known, text(seen.body));
      const fresh = await add(unknown, unknownUid);
      if (away.includes('api'))
        t.match(
          fresh,
          { status: 503, body: { code: 'unavailable' } },
          `${who} away: of others nobody can say whose they are`,
        );
      else t.equal(fresh.status, 200, `${who} away: one that comes meanwhile, too`);
      const goes = `goes-${nth}`;
      t.match(
        await call(socket, 'ReleaseIP', goes),
        { status: 200, body: { NetConfs: [{}] } },
        `${who} away: DEL works`,
      );
      held.delete(goes);
      host.apply(podRules(address.ipv4, eni.device.routeTable).map(deleteRule));
      await daemon.until(async () => ruled() === 2);
      t.pass(`${who} away: what is flushed under a running pod is made again`);

      await new Promise((resolve) => setTimeout(resolve, AWAY_MS));
      t.match(await daemon.report(), { state: /serving/, readiness: { Code: 0 } }, `${who} away: the node serves`);
      for (const [pod, body] of held)
        t.equal(text((await call(socket, 'GetIPInfo', pod)).body), body, `${who}: ${pod}`);

      for (const name of away) doors[name].mend();
      await daemon.until(async () => (await add(unknown, unknownUid)).status === 200);
      held.set(unknown, text((await add(unknown, unknownUid)).body));
      await daemon.until(async () => {
        const { podWatch, pool } = await daemon.report();
        return podWatch?.awaySinceMs === null && (pool?.counts.idle ?? 0) >= 3;
      });
      const after = `after-${nth}`;
      const whole = await add(after, here.addPod(after));
      t.equal(whole.status, 200, `${who} back: and all is as before`);
      held.set(after, text(whole.body));
      const report = await daemon.report();
      const ips = report.leases.map(({ grant }) => grant.address.ipv4);
      t.equal(new Set(ips).size, held.size, `${who} back: as many addresses as pods`);
      t.same(report.invalidLeases, []);
    }
    t.equal(ruled(), 2);
  },
);
