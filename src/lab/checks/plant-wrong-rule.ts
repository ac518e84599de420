/**
 * Makes a routing fault on purpose: sends one pod's packets out through an ENI that does not hold its address.
 *
 * For tests of the check itself: a check that cannot fail proves nothing.
 */
import { openKoffiLibc } from '../../adapters/netlink/libc-koffi.ts';
import { Netlink } from '../../adapters/netlink/netlink.ts';
import { addRule } from '../../adapters/netlink/wire/rule.ts';
import type { Lab } from '../lab.ts';

/** Before every rule of ours and Terway's (512, 2048). */
const WRONG_RULE_PRIORITY = 100;

/** Returns the sentence that says what was planted. Throws when no node has a pod and a second ENI. */
export async function plantWrongRule(lab: Lab): Promise<string> {
  for (const pod of lab.pods.values()) {
    const node = lab.node(pod.node);
    const [ip] = pod.ips;
    const report = await node.report();
    const wrong = report?.enis.find(
      (eni) => eni.routeTable !== null && !eni.addresses.some((address) => address.ipv4 === ip),
    );
    if (ip === undefined || wrong?.routeTable == null) continue;
    const netlink = new Netlink(openKoffiLibc(), node.guest.netns.fd);
    try {
      const source = { ip, prefix: 32 };
      netlink.apply([addRule({ family: 4, priority: WRONG_RULE_PRIORITY, source, table: wrong.routeTable })]);
    } finally {
      netlink.close();
    }
    return `planted on ${node.name}: packets of ${pod.name} (${ip}) leave by ${wrong.device}, which does not hold that address`;
  }
  throw new Error('no node has a pod and a second ENI: nothing could be planted');
}
