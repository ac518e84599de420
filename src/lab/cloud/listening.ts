/** Where a server listens, written `host:port`, `[v6]:port`, or `port` for loopback; port 0 takes a free one. */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Listening = {
  /** `http://host:port`, without a slash at the end. */
  readonly url: string;
  /** Ends open connections too. */
  readonly close: () => Promise<void>;
};

/** Throws RangeError when `text` is no such place. */
export function parseListen(text: string): { readonly host: string; readonly port: number } {
  const [, v6, name, digits = ''] = /^(?:\[([0-9a-fA-F:.]+)\]:|([^:[\]]*):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === '' || port > 65_535) throw new RangeError(`listen: ${text} is not host:port`);
  const host = v6 ?? (name === undefined || name === '' ? '127.0.0.1' : name);
  return { host, port };
}

/** Rejects with what `listen` met, such as EADDRINUSE. */
export async function listenHttp(listen: string, handler: RequestListener): Promise<Listening> {
  const { host, port } = parseListen(listen);
  const server: Server = createServer({ keepAliveTimeout: 60_000 }, handler);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const bound = server.address() as AddressInfo; // a TCP server that listens
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
