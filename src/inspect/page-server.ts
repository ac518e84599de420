/**
 * Serves the inspector's page to one person on this machine.
 *
 * The link that is printed carries a token in its fragment, which no browser sends anywhere: the page trades it, once, for a key that it
 * keeps in its tab and shows with every question. So a link that leaks later is worth nothing, no cookie goes along with what other pages
 * ask, and what other users of the machine find at the port is an empty page.
 * A page from elsewhere that has its name point to 127.0.0.1 (DNS rebinding) is told apart by Host; others by Origin. The content
 * security policy lets nothing in from elsewhere.
 * Source: RFC 9110, 7.2 (a server that is not for this Host must not answer as if it were); W3C CSP 3.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { streamLines } from '../adapters/http/ndjson-stream.ts';
import { layoutOf } from '../charts/layout.ts';
import type { ChartData } from '../ports/chart-data.ts';
import type { Source } from './source.ts';
import type { ChartTold } from './told.ts';

export type PageServerOptions = {
  readonly source: Source;
  /** Where the built page lies. */
  readonly assetsDir: string;
  /** 0: any free one. */
  readonly port: number;
  /** Told of the first link, and of a fresh one whenever one was used. */
  readonly onLink: (link: string) => void;
};

export type PageServer = { readonly port: number; close(): void };

const TOKEN_BYTES = 24;
/** Tabs that may be open at once; the oldest key goes first. */
const KEYS_MAX = 16;
const BODY_MAX = 1_024;

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** Without a key: there is nothing of the node in them. */
const ASSETS: Readonly<Record<string, readonly [file: string, type: string]>> = {
  '/': ['inspect.html', 'text/html; charset=utf-8'],
  '/inspect.js': ['inspect.js', 'text/javascript; charset=utf-8'],
  '/inspect.css': ['inspect.css', 'text/css; charset=utf-8'],
};

type Answer = readonly [status: number, body: unknown];

/** Rejects when the port is taken. */
export async function startPageServer({ source, assetsDir, port, onLink }: PageServerOptions): Promise<PageServer> {
  const keys: string[] = [];
  const fresh = (): string => randomBytes(TOKEN_BYTES).toString('base64url');
  let token = fresh();
  const server = createServer((request, response) => {
    void answered(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else send(response, [502, { error: error instanceof Error ? error.message : String(error) }]);
    });
  });
  await listening(server, port);
  const own = (server.address() as AddressInfo).port;
  const hosts = [`127.0.0.1:${own}`, `localhost:${own}`];
  const announce = (): void => onLink(`http://127.0.0.1:${own}/#${token}`);

  async function answered(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers, url = '/' } = request;
    const { host = '', origin } = headers;
    if (!hosts.includes(host)) return send(response, [421, { error: 'this server is for 127.0.0.1 alone' }]);
    if (origin !== undefined && origin !== `http://${host}`)
      return send(response, [403, { error: 'asked by a page from elsewhere' }]);
    const { pathname, searchParams } = new URL(url, `http://${host}`);
    const asset = ASSETS[pathname];
    if (method === 'GET' && asset !== undefined) return sendAsset(response, join(assetsDir, asset[0]), asset[1]);
    if (method === 'POST' && pathname === '/session') {
      const shown = await bodyOf(request);
      if (shown === null || !same(shown, token)) return send(response, [401, { error: 'this link has been used' }]);
      token = fresh();
      const key = fresh();
      keys.push(key);
      if (keys.length > KEYS_MAX) keys.shift();
      send(response, [200, { key }]);
      return announce();
    }
    const [, key = ''] = /^Bearer (\S+)$/.exec(headers.authorization ?? '') ?? [];
    if (!keys.some((one) => same(key, one))) return send(response, [401, { error: 'open the link that was printed' }]);
    if (method !== 'GET') return send(response, [405, { error: 'only GET' }]);
    if (pathname === '/api/stream') return stream(response);
    send(response, await read(source, pathname, searchParams));
  }

  function stream(response: ServerResponse): void {
    for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
    streamLines(
      response,
      (line) =>
        source.watch((told) => {
          // A report is stale when the next one comes: a reader that is behind is spared it.
          if (told.kind === 'report' && response.writableLength > 0) return;
          line(JSON.stringify(told));
        }),
      () => {},
    );
  }

  announce();
  return {
    port: own,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function read(source: Source, path: string, params: URLSearchParams): Promise<Answer> {
  const number = (name: string): number => Number(params.get(name) ?? 0);
  const name = params.get('path') ?? '';
  switch (path) {
    case '/api/charts':
      return [200, await placed(await source.charts())];
    case '/api/actor':
      return found(await source.actor(name));
    case '/api/why':
      return found(await source.why(params.get('pod') ?? ''));
    case '/api/past':
      return [200, await source.past(number('tape'))];
    case '/api/past/moment':
      return found(await source.momentOf(number('tape'), number('index')));
    case '/api/past/actor':
      return found(await source.actorAt(number('tape'), number('index'), name));
    default:
      return [404, { error: 'no such path' }];
  }
}

/** What is not there is an answer too: null. */
const found = (value: unknown): Answer => [200, value];

/** Laid out once: a layout takes a second, and the same chart has the same places. */
const layouts = new Map<string, Promise<ChartTold>>();

async function placed(charts: readonly ChartData[]): Promise<readonly ChartTold[]> {
  return await Promise.all(
    charts.map((chart) => {
      const text = JSON.stringify(chart);
      const known = layouts.get(text) ?? layoutOf(chart).then((one) => ({ chart, placed: one }));
      layouts.set(text, known);
      return known;
    }),
  );
}

/** Takes as long whatever differs. */
function same(shown: string, right: string): boolean {
  const [one, other] = [Buffer.from(shown), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}

async function bodyOf(request: IncomingMessage): Promise<string | null> {
  let text = '';
  for await (const part of request.setEncoding('utf8')) {
    text += part;
    if (text.length > BODY_MAX) return null;
  }
  return text;
}

function send(response: ServerResponse, [status, body]: Answer): void {
  response.writeHead(status, { ...HEADERS, 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body)}\n`);
}

function sendAsset(response: ServerResponse, path: string, type: string): void {
  const bytes = readFileSync(path);
  response.writeHead(200, { ...HEADERS, 'content-type': type, 'content-length': bytes.length });
  response.end(bytes);
}

function listening(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve());
  });
}
