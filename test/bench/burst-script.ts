/**
 * The script that the burst is held against: what a person would write who knew the burst in advance and the cloud by heart.
 *
 * It is optimal in both figures at once, in this cloud. An ENI holds at most `ipv4PerEni` addresses, so at least
 * `ceil(pods / ipv4PerEni)` of them have to be made and attached: two calls each, and no call can do for two ENIs. A Create takes all the
 * addresses an ENI may hold (49 besides its own), so no Assign is needed, and none could come sooner: the ENI of an Assign has to be made
 * just the same. No pod can be answered before one Create, one Attach and the time the cloud needs to attach, one after another, since
 * the node is cold; the script has all of these run side by side for all ENIs, waits for the kernel to show each device instead of
 * asking the cloud, and answers after one write to the disk. So
 *   calls = 2 * ceil(pods / ipv4PerEni),  time = create + attach + attaching + what the wire, the device and the disk take.
 */
import type { BurstNode } from './burst-node.ts';

export async function runScript(node: BurstNode, pods: number): Promise<void> {
  const { ipv4PerEni } = node.size;
  const counts = Array.from({ length: Math.ceil(pods / ipv4PerEni) }, (_, index) =>
    Math.min(ipv4PerEni, pods - index * ipv4PerEni),
  );
  const { signal } = new AbortController();
  const { cloud, kernel, store } = node.ports;
  await Promise.all(
    counts.map(async (ipv4Count, index) => {
      const eni = await cloud.createEni(
        {
          vSwitchId: node.vSwitchId,
          securityGroupIds: node.securityGroupIds,
          ipv4Count,
          ipv6Count: 0,
          tags: {},
          description: 'made by the optimal script',
          clientToken: `script-${index}`,
        },
        signal,
      );
      await cloud.attachEni(eni.eniId, node.instanceId, signal);
      const subnet = { cidr: '192.168.0.0/24', gateway: '192.168.0.253', ipv6Cidr: null, ipv6Gateway: null };
      await kernel.setUpEni({ mac: eni.mac, subnet, nodeIp: '192.168.0.1', mtu: 1500, routeTable: null }, signal);
      await store.write(eni.ipv4.map((ip) => ({ type: 'put', in: 'leases', key: ip, value: { ip } })));
    }),
  );
}
