/** A way to a server that can be cut, as a firewall would: what is under way is reset, and nobody gets through until it is mended. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export class TcpDoor {
  readonly port: number;
  readonly close: () => Promise<void>;
  readonly #sockets: Set<Socket>;
  #open = true;

  private constructor(port: number, sockets: Set<Socket>, close: () => Promise<void>) {
    this.port = port;
    this.#sockets = sockets;
    this.close = close;
  }

  static async to(url: string): Promise<TcpDoor> {
    const { hostname, port } = new URL(url);
    const sockets = new Set<Socket>();
    const server = createServer((near) => {
      if (!door.#open) return void near.resetAndDestroy();
      const far = connect({ host: hostname, port: Number(port) });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(one);
        one.once('close', () => {
          sockets.delete(one);
          other.destroy();
        });
        one.on('error', () => {});
        one.pipe(other);
      }
    });
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    const close = (): Promise<void> =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      });
    const door: TcpDoor = new TcpDoor((server.address() as AddressInfo).port, sockets, close);
    return door;
  }

  cut(): void {
    this.#open = false;
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  /** What is connected stays connected and hears nothing any more; who comes now gets through. */
  swallow(): void {
    for (const socket of this.#sockets) {
      socket.unpipe();
      socket.resume();
    }
  }

  mend(): void {
    this.#open = true;
  }
}
