/**
 * Commands to paste, which work in this order: what takes away comes last, and of the pod that the first one adds.
 */
import type { LabStatus, NodeStatus } from '../status/lab-status.ts';
import type { DrawOptions } from './draw-options.ts';
import { pad } from './fit.ts';

/** Commands longer than this do not push the words behind the others to the right. */
const TIP_COLUMNS = 70;
const NEW_POD = 'hello';

export function nextLines(status: LabStatus, { paint, command, columns, hasIp }: DrawOptions): string[] {
  const [node] = status.nodes;
  const roomy = status.nodes.toSorted((a, b) => roomOn(b) - roomOn(a)).find((one) => roomOn(one) > 0);
  const running = status.pods.filter((one) => one.phase === 'running');
  const fresh = freeName(status);
  // Pasted one by one, with the page drawn anew in between, the pod to take away is there already.
  const added = running.findLast(({ name }) => name === NEW_POD || name.startsWith(`${NEW_POD}-`))?.name;
  const leaving = added ?? (roomy === undefined ? running.at(-1)?.name : fresh);
  const pod = running[0]?.name;
  const far = running.find((one) => one.node !== running[0]?.node)?.name ?? status.hosts[0]?.name;
  const inside = hasIp ? 'ip -4 addr' : 'cat /proc/net/route';
  const tips = [
    ...(roomy === undefined ? [] : [{ line: `lab pod add ${fresh} --node ${roomy.name}`, why: 'one more pod' }]),
    ...(pod === undefined
      ? []
      : [
          { line: `lab probe ${pod} ${far ?? pod}`, why: 'who saw whom' },
          { line: `lab exec ${pod} -- ${inside}`, why: 'inside a pod' },
        ]),
    { line: 'lab ledger', why: 'what the cloud was asked for' },
    ...(node === undefined
      ? []
      : [
          { line: `lab status ${node.name}`, why: 'what its daemon says' },
          { line: `status --debug-socket ${node.debugSocket}`, why: 'the same' },
        ]),
    ...(leaving === undefined ? [] : [{ line: `lab pod rm ${leaving}`, why: 'its address cools, then is idle' }]),
  ]
    .map(({ line, why }) => ({ line: `${command} ${line}`, why }))
    // A command that would be cut could not be pasted.
    .filter(({ line }) => line.length + 2 < columns);
  const short = tips.map(({ line }) => line.length).filter((length) => length < TIP_COLUMNS);
  const wide = Math.max(...short) + 2;
  return [
    `${paint('bold', 'try next')} ${paint('gray', '(in another terminal)')}`,
    ...tips.map(
      ({ line, why }) => `  ${paint('cyan', pad(line, wide))}${line.length < wide ? '' : '  '}${paint('gray', why)}`,
    ),
  ];
}

/** Addresses that the node could still give out; 0 while its daemon does not tell. */
function roomOn({ report }: NodeStatus): number {
  const pool = report?.pool ?? null;
  if (pool === null) return 0;
  return pool.capacity - pool.counts.bound - pool.counts.offered - pool.counts.reserved;
}

function freeName({ pods }: LabStatus): string {
  const taken = new Set(pods.map(({ name }) => name));
  let name = NEW_POD;
  for (let count = 2; taken.has(name); count += 1) name = `${NEW_POD}-${count}`;
  return name;
}
