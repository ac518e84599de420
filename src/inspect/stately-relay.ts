/**
 * The relay that `@statelyai/inspect` speaks with: whoever connects by WebSocket is told of every actor of the node, then of each event and
 * state as it happens. The hosted inspector at stately.ai is one such reader, by the page that is served here; any other receiver works
 * without the internet. The node is watched only while somebody is connected, each reader by a stream of its own, so that one who comes late has
 * missed no actor, and one who does not read is cut off without the others.
 *
 * A WebSocket may be opened by any page of a browser, and the port by any user of the machine: the address holds a token, pages from
 * elsewhere are told by their Origin, and names that were made to point here by their Host.
 * Source: @statelyai/inspect 0.7.2, src/server.ts and src/webSocket.ts; RFC 6455, 10.2 (Origin).
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { askDebug, debugLines } from '../adapters/http/debug-client.ts';
import type { Page } from '../adapters/http/debug-pages.ts';
import type { ChartData } from '../ports/chart-data.ts';
import type { Inspected } from '../ports/inspected.ts';
import { StatelyWire } from './stately-wire.ts';

/** Bytes that may wait for one reader. */
export const RELAY_QUEUE_BYTES = 4 * 1024 * 1024;
const READERS_MAX = 16;
/** What readers may say, which nobody listens to. */
const SAID_BYTES_MAX = 64 * 1024;
const INSPECTOR = 'https://stately.ai';
/** Codes of a WebSocket's end. Source: RFC 6455, 7.4.1; IANA for 1013. */
const GONE = 1011;
const TRY_LATER = 1013;

export type RelayOptions = {
  /** The daemon's debug socket. */
  readonly socketPath: string;
  /** Of 127.0.0.1; 0: any free one. */
  readonly port: number;
  /** Told when a reader's stream ends for another reason than that it left. */
  readonly onEnd?: (why: string) => void;
};

export type StatelyRelay = {
  /** A page with the hosted inspector in it. */
  readonly pageUrl: string;
  /** For `createWebSocketReceiver({ server })`. */
  readonly socketUrl: string;
  readonly readers: () => number;
  close(): void;
};

/** Rejects when the node does not answer, or the port is taken. */
export async function startStatelyRelay({ socketPath, port, onEnd }: RelayOptions): Promise<StatelyRelay> {
  const charts = await chartsOf(socketPath);
  const path = `/${randomBytes(24).toString('base64url')}`;
  const sockets = new WebSocketServer({ noServer: true, maxPayload: SAID_BYTES_MAX });
  const server = createServer((request, response) => {
    if (!welcome(request, own(), path)) return refuse(response);
    sendPage(response);
  });
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    if (!welcome(request, own(), path) || sockets.clients.size >= READERS_MAX) {
      stream.end(`HTTP/1.1 ${sockets.clients.size >= READERS_MAX ? 503 : 404} No\r\nconnection: close\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, stream, head, (socket) => void relay(socket));
  });

  async function relay(socket: WebSocket): Promise<void> {
    const left = new AbortController();
    socket.once('close', () => left.abort());
    socket.on('error', () => left.abort());
    const wire = new StatelyWire(charts);
    try {
      for await (const line of debugLines(socketPath, '/v1/streams/inspection?context=1', left.signal)) {
        socket.send(JSON.stringify(wire.read(JSON.parse(line) as Inspected)));
        if (socket.bufferedAmount <= RELAY_QUEUE_BYTES) continue;
        onEnd?.('a reader did not take what it was sent: cut off');
        socket.close(TRY_LATER, 'too slow');
        socket.terminate();
        return;
      }
      if (!left.signal.aborted) onEnd?.('the daemon has ended the stream');
    } catch (error) {
      onEnd?.(error instanceof Error ? error.message : String(error));
    }
    socket.close(GONE, 'the daemon is gone');
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const own = (): number => (server.address() as AddressInfo).port;
  return {
    pageUrl: `http://127.0.0.1:${own()}${path}`,
    socketUrl: `ws://127.0.0.1:${own()}${path}`,
    readers: () => sockets.clients.size,
    close: () => {
      for (const socket of sockets.clients) socket.terminate();
      server.close();
      server.closeAllConnections();
    },
  };
}

async function chartsOf(socketPath: string): Promise<readonly ChartData[]> {
  const { status, body } = await askDebug(socketPath, '/v1/charts');
  if (status !== 200) throw new Error(`${socketPath} answered ${status}: ${body.slice(0, 200).trim()}`);
  return (JSON.parse(body) as Page<ChartData>).items;
}

/** Who knows the address, came by its own name, and is no page from elsewhere. */
function welcome({ headers, url = '' }: IncomingMessage, port: number, path: string): boolean {
  const { host = '', origin } = headers;
  if (host !== `127.0.0.1:${port}` && host !== `localhost:${port}`) return false;
  if (origin !== undefined && origin !== `http://${host}`) return false;
  const [asked, known] = [Buffer.from(url), Buffer.from(path)];
  return asked.length === known.length && timingSafeEqual(asked, known);
}

function refuse(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain' }).end('open the address that was printed\n');
}

/** The hosted inspector in a frame, which is handed what comes in: it says when it is ready. */
function sendPage(response: ServerResponse): void {
  const nonce = randomBytes(16).toString('base64');
  response.writeHead(200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'; connect-src 'self'; frame-src ${INSPECTOR}; base-uri 'none'; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
  response.end(`<!doctype html>
<html lang="en">
<title>Enactor in Stately's inspector</title>
<style nonce="${nonce}">html, body, iframe { margin: 0; border: 0; width: 100%; height: 100%; display: block }</style>
<iframe id="inspector" src="${INSPECTOR}/inspect" referrerpolicy="no-referrer"></iframe>
<script nonce="${nonce}">
  const { contentWindow } = document.getElementById('inspector');
  let waiting = [];
  const tell = (event) => contentWindow.postMessage(event, '${INSPECTOR}');
  window.addEventListener('message', ({ origin, data }) => {
    if (origin !== '${INSPECTOR}' || data?.type !== '@statelyai.connected' || waiting === null) return;
    waiting.forEach(tell);
    waiting = null;
  });
  const socket = new WebSocket('ws://' + location.host + location.pathname);
  socket.onmessage = ({ data }) => (waiting === null ? tell(JSON.parse(data)) : waiting.push(JSON.parse(data)));
</script>
</html>
`);
}
