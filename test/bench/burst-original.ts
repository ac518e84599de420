/**
 * The original's policy, driven through the same simulated cloud.
 *
 * Each ENI slot has one worker. A request goes to the first slot (all are alike on a cold node) whose addresses and queued requests leave
 * room. A worker that has requests waits 300 ms, takes at most 10 of them, waits for a token (one in 6 s, burst 2, counted apart for ENIs
 * and for addresses) and makes one call: a Create, with its attach, if the slot has no ENI, else an Assign. Either is done when the
 * metadata service shows all of its addresses, looked at every second, the first time after one. Where its versions differ, or add waits
 * (a Describe that begins 3 s after the attach), the fastest was taken.
 * Source: Terway HEAD, pkg/eni/local.go (factoryAllocWorker), pkg/eni/manager.go, pkg/factory/aliyun/aliyun.go.
 */
import type { BurstNode } from './burst-node.ts';

const WINDOW_MS = 300;
const BATCH_MAX = 10;
const TOKEN_MS = 6_000;
const TOKENS_BURST = 2;
const METADATA_POLL_MS = 1_000;

export async function runOriginal(node: BurstNode, pods: number): Promise<void> {
  const { enis, ipv4PerEni } = node.size;
  const slots: number[] = [];
  for (let left = pods; left > 0; left -= ipv4PerEni) slots.push(Math.min(ipv4PerEni, left));
  if (slots.length > enis) throw new RangeError(`${pods} pods do not fit ${enis} ENIs of ${ipv4PerEni}`);
  await Promise.all(slots.map((queued, slot) => runSlot(node, slot, queued)));
}

async function runSlot(node: BurstNode, slot: number, requests: number): Promise<void> {
  const { signal } = new AbortController();
  const { cloud, store } = node.ports;
  const [eniTokens, addressTokens] = [limiter(node), limiter(node)];
  let eni: { readonly eniId: string; readonly mac: string } | null = null;
  for (let queued = requests, calls = 0; queued > 0; calls += 1) {
    await node.sleep(WINDOW_MS);
    const count = Math.min(BATCH_MAX, queued);
    const clientToken = `original-${slot}-${calls}`;
    let ips: readonly string[];
    if (eni === null) {
      await eniTokens();
      const made = await cloud.createEni(
        {
          vSwitchId: node.vSwitchId,
          securityGroupIds: node.securityGroupIds,
          ipv4Count: count,
          ipv6Count: 0,
          tags: {},
          description: '',
          clientToken,
        },
        signal,
      );
      await cloud.attachEni(made.eniId, node.instanceId, signal);
      ips = made.ipv4;
      eni = made;
    } else {
      await addressTokens();
      ips = await cloud.assignIpv4(eni.eniId, count, clientToken, signal);
    }
    await inMetadata(node, eni.mac, ips);
    await store.write(ips.map((ip) => ({ type: 'put', in: 'leases', key: ip, value: { ip } })));
    queued -= count;
  }
}

/** golang.org/x/time/rate: waits for the next token; `burst` of them are there at first. */
function limiter(node: BurstNode): () => Promise<void> {
  let tokens = TOKENS_BURST;
  let lastMs = node.clock.nowMs();
  return async () => {
    const nowMs = node.clock.nowMs();
    tokens = Math.min(TOKENS_BURST, tokens + (nowMs - lastMs) / TOKEN_MS) - 1;
    lastMs = nowMs;
    if (tokens < 0) await node.sleep(-tokens * TOKEN_MS);
  };
}

async function inMetadata(node: BurstNode, mac: string, ips: readonly string[]): Promise<void> {
  for (;;) {
    await node.sleep(METADATA_POLL_MS);
    const found = (await node.ports.metadata.enis(new AbortController().signal)).find((eni) => eni.mac === mac);
    if (found !== undefined && ips.every((ip) => found.ipv4.includes(ip))) return;
  }
}
