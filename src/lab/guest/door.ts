/**
 * A TCP port inside a namespace that leads to a server outside it, so that one server serves many machines.
 *
 * The listener is opened inside; what it accepts is joined to a connection made from the lab's own namespace.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Netns } from '../netns/netns.ts';

export type Door = { close(): Promise<void> };

/** Resolves when the port is open on every address of the namespace. Rejects when it is taken. */
export async function openDoor(
  netns: Netns,
  port: number,
  target: { readonly host: string; readonly port: number } | { readonly path: string },
): Promise<Door> {
  const open = new Set<Socket>();
  const server = createServer((inner) => {
    const outer = connect(target);
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      open.add(from);
      from.setNoDelay(true);
      from.pipe(to);
      from.on('error', () => to.destroy());
      from.on('close', () => open.delete(from));
    }
  });
  await listenInside(netns, server, port);
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}

/**
 * Lets a server (TCP, HTTP, TLS) listen on `port` of every address inside a namespace. `listen` with a host would bind a tick
 * later, outside.
 */
export function listenInside(netns: Netns, server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve();
    });
    netns.run(() => {
      server.listen(port);
    });
  });
}
