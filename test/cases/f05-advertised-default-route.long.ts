/**
 * F5: a node whose IPv6 default route comes from router advertisements keeps it when the daemon turns forwarding on for its pods. The kernel would
 * drop the route then, and take no advertisement any more, unless accept_ra is 2. The lifetime of the case, 6 s, is 3 s here.
 */
import '../lab/in-box.ts';

import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import { startLab } from '../../src/lab/lab.ts';
import { readSysctl, writeSysctl } from '../../src/lab/netns/sysctl.ts';
import { runInside } from '../../src/lab/services/run-inside.ts';
import { cannotWalk, eventually } from '../lab/whole-path.ts';

t.setTimeout(120_000);
const skip = cannotWalk();
const LIFETIME_S = 3;
const EVERY_MS = 400;
const FAR = '2001:db8:ffff::1';

t.test('F5: the node’s advertised default route outlives forwarding and pods', { skip }, async (t) => {
  const lab = await startLab({ nodes: 1, config: { ip_stack: 'dual' } });
  const [node] = lab.nodes;
  if (node === undefined) throw new Error('the lab has no node');
  const { netns } = node.guest;
  const primary = lab.truth().enis.find((eni) => eni.instanceId === node.instanceId && eni.type === 'Primary');
  const advertising = setInterval(() => lab.router.advertise(primary?.eniId ?? '', LIFETIME_S), EVERY_MS);
  const goesOut = async () =>
    (await runInside(netns, 'ip', ['-6', 'route', 'get', FAR]).catch(() => '')).includes('proto ra');
  try {
    // As a machine is before the daemon has ever run.
    await node.daemon?.stop();
    netns.run(() => {
      writeSysctl('net/ipv6/conf/all/forwarding', '0');
      writeSysctl('net/ipv6/conf/eth0/accept_ra', '1');
    });
    await eventually('the advertised route is there', goesOut);

    let [looks, gaps] = [0, 0];
    const watching = new AbortController();
    const watch = (async () => {
      while (!watching.signal.aborted) {
        looks += 1;
        if (!(await goesOut())) gaps += 1;
        await sleep(100);
      }
    })();
    node.startDaemon();
    await node.whenServing(60_000);
    const pod = await lab.addPod('p');
    t.equal(pod.ips.length, 2, 'a pod with both families runs');
    t.equal(
      netns.run(() => readSysctl('net/ipv6/conf/all/forwarding')),
      '1',
      'forwarding is on',
    );
    t.equal(
      netns.run(() => readSysctl('net/ipv6/conf/eth0/accept_ra')),
      '2',
      'and advertisements count all the same',
    );
    await sleep(2 * LIFETIME_S * 1_000);
    watching.abort();
    await watch;
    t.ok(looks > 20, `looked ${looks} times`);
    t.equal(gaps, 0, 'the node had its route all the time, for two lifetimes');

    // What would happen otherwise, so that the above could fail.
    netns.run(() => writeSysctl('net/ipv6/conf/eth0/accept_ra', '1'));
    await eventually('with accept_ra=1 it expires, though advertised on', async () => !(await goesOut()));
    t.pass('the route expires with accept_ra=1');
  } finally {
    clearInterval(advertising);
    t.strictSame(await lab.stop(), [], 'nothing is left behind');
  }
});
