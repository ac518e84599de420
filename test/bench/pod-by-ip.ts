/**
 * The same pod made and removed by iproute2, as the bench's yardstick: two `ip -batch` runs each, one on the host's side and one
 * in the pod's namespace.
 */
import { FROM_POD_PRIORITY, POD_GATEWAY, TO_POD_PRIORITY } from '../../src/adapters/datapath/pod-plan.ts';

export type YardstickPod = {
  /** Name below /run/netns. */
  readonly netns: string;
  readonly hostName: string;
  readonly hostMac: string;
  readonly podMac: string;
  readonly ip: string;
  readonly routeTable: number;
};

/** Arguments and standard input of one `ip` process. */
export type Batch = { readonly args: readonly string[]; readonly lines: string };

const onHost = (...lines: readonly string[]): Batch => ({ args: ['-batch', '-'], lines: `${lines.join('\n')}\n` });
const inPod = (pod: YardstickPod, ...lines: readonly string[]): Batch => ({
  args: ['-n', pod.netns, '-batch', '-'],
  lines: `${lines.join('\n')}\n`,
});

export function addBatches(pod: YardstickPod): readonly [Batch, Batch] {
  const { hostName, hostMac, podMac, ip, netns, routeTable } = pod;
  return [
    onHost(
      `link add ${hostName} mtu 1500 address ${hostMac} type veth peer name eth0 mtu 1500 address ${podMac} netns ${netns}`,
      `link set ${hostName} up`,
      `route add ${ip}/32 dev ${hostName} scope link`,
      `rule add to ${ip}/32 lookup main priority ${TO_POD_PRIORITY}`,
      `rule add from ${ip}/32 lookup ${routeTable} priority ${FROM_POD_PRIORITY}`,
    ),
    inPod(
      pod,
      'link set eth0 up',
      `address add ${ip}/32 dev eth0`,
      `neighbour add ${POD_GATEWAY[4]} lladdr ${hostMac} dev eth0 nud permanent`,
      `route add default via ${POD_GATEWAY[4]} dev eth0 onlink`,
    ),
  ];
}

/** Deleting the pod's end takes the host's end and its route along. */
export function removeBatches(pod: YardstickPod): readonly [Batch, Batch] {
  const { ip, routeTable } = pod;
  return [
    onHost(
      `rule del to ${ip}/32 lookup main priority ${TO_POD_PRIORITY}`,
      `rule del from ${ip}/32 lookup ${routeTable} priority ${FROM_POD_PRIORITY}`,
    ),
    inPod(pod, 'link del eth0'),
  ];
}
