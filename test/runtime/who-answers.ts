/**
 * Asks web servers, many at once from one place, who they are and which source address they saw: one shell with busybox's `nc`, so that a whole row of
 * paths costs one command in a container. The servers of machines that are no pods are here too.
 */
import { createServer } from 'node:http';
import { isIPv6 } from 'node:net';
import { listenInside } from '../../src/lab/guest/door.ts';
import type { Netns } from '../../src/lab/netns/netns.ts';
import { runInside } from '../../src/lab/services/run-inside.ts';
import { BUSYBOX_PATH, WEB_PORT } from './busybox-image.ts';
import type { CriNode, CriPod } from './cri-node.ts';

const CONNECT_TIMEOUT_S = 6;

export type Aim = { readonly address: string; readonly port: number };
/** Null when nobody answered. */
export type Answer = { readonly place: string; readonly sourceSeen: string } | null;
/** Runs a script of busybox's shell somewhere, and resolves with what it printed. */
export type Shell = (script: string) => Promise<string>;

export const inPod =
  ({ containerd }: CriNode, { containerId }: CriPod): Shell =>
  async (script) =>
    (await containerd.cri.exec(containerId, ['sh', '-c', script])).stdout;

export const inNetns =
  (netns: Netns): Shell =>
  (script) =>
    runInside(netns, BUSYBOX_PATH, ['sh', '-c', script]);

/** In the order of `aims`. */
export async function whoAnswers(shell: Shell, aims: readonly Aim[]): Promise<readonly Answer[]> {
  const request = "printf 'GET /cgi-bin/who HTTP/1.0\\r\\n\\r\\n'";
  const script = [
    `ask() { a=$(${request} | busybox nc -w ${CONNECT_TIMEOUT_S} $2 $3 2>/dev/null | busybox tail -n 1); echo "$1 $a"; }`,
    ...aims.map(({ address, port }, index) => `ask ${index} ${address} ${port} &`),
    'wait',
  ].join('\n');
  const lines = (await shell(script)).split('\n').map((line) => line.trim().split(' '));
  return aims.map((_, index) => {
    const [, place, sourceSeen] = lines.find(([at]) => at === `${index}`) ?? [];
    return place === undefined || sourceSeen === undefined ? null : { place, sourceSeen: plain(sourceSeen) };
  });
}

/** busybox's httpd writes a caller of IPv6 in brackets, and one of IPv4 as IPv6 has it. */
function plain(address: string): string {
  return address.replace(/^\[(.*)\]$/, '$1').replace(/^::ffff:/, '');
}

/** Answers as the pods' servers do, on every address of a machine; resolves with what ends it. */
export async function serveWho(netns: Netns, place: string): Promise<() => Promise<void>> {
  const server = createServer(({ socket }, response) => {
    const { remoteAddress = 'nobody' } = socket;
    response.end(`${place} ${isIPv6(remoteAddress) ? plain(remoteAddress) : remoteAddress}\n`);
  });
  await listenInside(netns, server, WEB_PORT);
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
}
