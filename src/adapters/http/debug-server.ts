/**
 * What people and tools may read of a running daemon, and the few things that they may tell it. The paths are told in debug-api.md beside this
 * file; answers are JSON without secrets, streams one JSON object a line. Reading is synchronous on snapshots, so that no request
 * for an address ever waits for a reader, however slow.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { ConfigReport } from '../../core/config-report.ts';
import { EnactorError, errorTable, failureOf } from '../../core/errors.ts';
import { JOURNAL_PAGE_MAX, type JournalQuery } from '../../core/input-journal.ts';
import { sandboxKey } from '../../core/sandbox.ts';
import { type Introspection, NODE_COMMANDS, type NodeCommand, type NodeReport } from '../../ports/introspection.ts';
import type { Log } from '../../ports/log.ts';
import type { LogTap } from '../logging/log-tap.ts';
import { silentLog } from '../logging/silent-log.ts';
import { httpStatusOf } from './connect-status.ts';
import { PAGE_MAX, pageOf } from './debug-pages.ts';
import { type Feed, streamLines } from './ndjson-stream.ts';
import { podRowKey, podRows } from './pod-list.ts';

/** What the actors tell, or null while there are none yet. */
export type DebugSource = () => Introspection | null;

export type DebugOptions = {
  readonly log?: Log;
  readonly logTap?: LogTap;
  /** In Prometheus' text format. */
  readonly metrics?: (report: NodeReport | null) => Promise<string>;
  /** null while it is not known. */
  readonly config?: () => ConfigReport | null;
  /** Whether what changes anything is carried out just now. */
  readonly commands?: () => boolean;
};

/** Streams that are read at once; whoever comes then is told to try again. */
const STREAMS_MAX = 32;
const LOG_LINES_MAX = 500;
const VERSION = '1';

type Answer = readonly [status: number, body: unknown];

type Asked = {
  readonly actors: Introspection;
  readonly params: URLSearchParams;
  /** What follows the path of a family, decoded. */
  readonly rest: string;
};

const badPage: Answer = [400, { error: `limit is a whole number, 1 to ${PAGE_MAX}` }];

const paged = <T>(all: readonly T[], keyOf: (item: T) => string, params: URLSearchParams): Answer => {
  const page = pageOf(all, keyOf, params);
  return page === null ? badPage : [200, page];
};

const found = (value: unknown, what: string): Answer =>
  value === null || value === undefined ? [404, { error: `there is no ${what.slice(0, 200)}` }] : [200, value];

/** Those that need the actors. */
const paths: Readonly<Record<string, (asked: Asked) => Answer>> = {
  '/v1/report': ({ actors }) => [200, actors.report()],
  '/v1/actors': ({ actors, params }) => paged(actors.report().actors, ({ path }) => path, params),
  '/v1/charts': ({ actors, params }) => paged(actors.charts(), ({ id }) => id, params),
  '/v1/enis': ({ actors, params }) => paged(actors.report().enis, ({ actor }) => actor, params),
  '/v1/leases': ({ actors, params }) => paged(actors.report().leases, ({ sandbox }) => sandboxKey(sandbox), params),
  '/v1/pods': ({ actors, params }) => paged(podRows(actors.report()), podRowKey, params),
  '/v1/waiting': ({ actors, params }) => paged(actors.report().waiting, ({ requestId }) => requestId, params),
  '/v1/life': ({ actors }) => [200, actors.life()],
  '/v1/pool': ({ actors }) => [200, actors.report().pool],
  '/v1/journal': ({ actors, params }) => {
    const asked = journalQuery(params);
    return asked === null
      ? [400, { error: `since and limit are whole numbers, limit 1 to ${JOURNAL_PAGE_MAX}` }]
      : [200, actors.journal(asked)];
  },
  '/v1/why': ({ actors, params }) => {
    const pod = params.get('pod') ?? '';
    return /^[^/\s]+\/[^/\s]+$/.test(pod) ? [200, actors.why(pod)] : [400, { error: 'pod is namespace/name' }];
  },
};

/** Those that name one thing after their path. */
const families: Readonly<Record<string, (asked: Asked) => Answer>> = {
  '/v1/actors/': ({ actors, rest }) => found(actors.actor(rest), `actor ${rest}`),
  '/v1/charts/': ({ actors, rest }) =>
    found(
      actors.charts().find(({ id }) => id === rest),
      `chart ${rest}`,
    ),
  '/v1/enis/': ({ actors, rest }) =>
    found(
      actors.report().enis.find(({ actor, eniId, device }) => [actor, eniId, device].includes(rest)),
      `ENI ${rest}`,
    ),
};

const allowed = (): boolean => true;
const STREAMS = ['/v1/streams/inspection', '/v1/streams/log'] as const;
const OTHERS = ['/metrics', '/v1', '/v1/health', '/v1/config', '/v1/log'] as const;

export function debugServer(source: DebugSource, options: DebugOptions = {}): Server {
  const { log = silentLog } = options;
  let streams = 0;

  const stream = (path: string, params: URLSearchParams, response: ServerResponse): Answer | null => {
    if (streams >= STREAMS_MAX) return [503, { error: `${STREAMS_MAX} streams are read already` }];
    const feed = feedOf(path, params, source(), options);
    if (typeof feed !== 'function') return feed;
    streams += 1;
    response.once('close', () => {
      streams -= 1;
    });
    streamLines(response, feed, () =>
      log.warn({ path }, 'a reader of a stream did not take what it was sent: cut off'),
    );
    return null;
  };

  const answer = (request: IncomingMessage, response: ServerResponse): Answer | null => {
    const [path = '', query = ''] = (request.url ?? '').split('?');
    const params = new URLSearchParams(query);
    const { method } = request;
    if (method === 'POST') return commanded(path, source(), options, log);
    if (method !== 'GET') return [405, { error: 'only GET, and POST to /v1/commands/…' }];
    if (STREAMS.some((one) => one === path)) return stream(path, params, response);
    if (path !== '/metrics' || options.metrics === undefined) return read(path, params, source(), options);
    void sendMetrics(response, options.metrics(source()?.report() ?? null));
    return null;
  };

  return createServer((request, response) => {
    request.resume();
    try {
      const answered = answer(request, response);
      if (answered !== null) send(response, answered);
    } catch (thrown) {
      const { code, detail } = failureOf(thrown);
      if (code === 'internal')
        log.error({ err: thrown, path: request.url }, 'a look at the node met a fault of the daemon');
      if (response.headersSent) response.destroy();
      else send(response, [httpStatusOf(errorTable[code].status), { error: detail }]);
    }
  });
}

function read(path: string, params: URLSearchParams, actors: Introspection | null, options: DebugOptions): Answer {
  if (path === '/v1') return [200, index(options)];
  if (path === '/v1/health') return health(actors);
  if (path === '/v1/config') {
    const report = options.config?.() ?? null;
    return report === null ? [503, { error: 'the configuration is not known yet' }] : [200, report];
  }
  if (path === '/v1/log') return logLines(params, options.logTap);
  const [family, byName] = Object.entries(families).find(([start]) => path.startsWith(start)) ?? [];
  const answer = paths[path] ?? byName;
  if (answer === undefined) return [404, { error: `no such path: ${path.slice(0, 200)}` }];
  if (actors === null) return [503, { error: 'the actors have not started' }];
  const rest = family === undefined ? '' : decoded(path.slice(family.length));
  return answer({ actors, params, rest });
}

/** Throws EnactorError. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new EnactorError('invalidArgument', 'the path is not encoded as a URL');
  }
}

function index({ commands = allowed }: DebugOptions): unknown {
  const all = [...OTHERS, ...Object.keys(paths), ...Object.keys(families).map((start) => `${start}{name}`), ...STREAMS];
  const post = commands() ? NODE_COMMANDS.map((command) => `/v1/commands/${command}`) : [];
  return { version: Number(VERSION), get: all.sort(), post };
}

/** 200 when pods can have addresses, else 503 and who is missing. */
export function health(actors: Introspection | null): Answer {
  if (actors === null) return [503, { state: 'starting', missing: ['actors'] }];
  const { state, missing } = actors.report();
  // A dotted path of the node's chart, such as `running.serving`.
  const serving = state.split('.').includes('serving');
  return serving ? [200, { state }] : [503, { state, missing }];
}

function logLines(params: URLSearchParams, tap: LogTap | undefined): Answer {
  const limit = Number(params.get('limit') ?? LOG_LINES_MAX);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > LOG_LINES_MAX)
    return [400, { error: `limit is a whole number, 1 to ${LOG_LINES_MAX}` }];
  return tap === undefined ? found(null, 'log here') : [200, tap.last(limit).map((line) => JSON.parse(line))];
}

/** null for what cannot be asked. */
function journalQuery(params: URLSearchParams): JournalQuery | null {
  const number = (name: string, otherwise: number): number => Number(params.get(name) ?? otherwise);
  const [since, limit] = [number('since', 0), number('limit', JOURNAL_PAGE_MAX)];
  const possible = Number.isSafeInteger(since) && Number.isSafeInteger(limit);
  return possible && since >= 0 && limit >= 1 && limit <= JOURNAL_PAGE_MAX ? { since, limit } : null;
}

function feedOf(
  path: string,
  params: URLSearchParams,
  actors: Introspection | null,
  { logTap }: DebugOptions,
): Feed | Answer {
  if (path === '/v1/streams/log') return logTap === undefined ? found(null, 'log here') : (line) => logTap.listen(line);
  if (actors === null) return [503, { error: 'the actors have not started' }];
  const below = params.get('actor') ?? '';
  const context = params.get('context') === '1';
  const concerns = (actor: string): boolean => below === '' || actor === below || actor.startsWith(`${below}/`);
  return (line) =>
    actors.watch(
      (event, json) => {
        if (concerns(event.actor)) line(json?.() ?? JSON.stringify(event));
      },
      { context },
    );
}

function commanded(path: string, actors: Introspection | null, { commands = allowed }: DebugOptions, log: Log): Answer {
  const [, name = ''] = /^\/v1\/commands\/([a-z]+)$/.exec(path) ?? [];
  if (!isCommand(name)) return [404, { error: `no such command: ${path.slice(0, 200)}` }];
  if (!commands()) return [403, { error: 'commands are turned off (debug_commands)' }];
  if (actors === null) return [503, { error: 'the actors have not started' }];
  actors.command(name);
  log.info({ command: name }, 'an operator’s command');
  return [202, { accepted: name }];
}

function isCommand(name: string): name is NodeCommand {
  return NODE_COMMANDS.some((command) => command === name);
}

async function sendMetrics(response: ServerResponse, metrics: Promise<string>): Promise<void> {
  try {
    response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(await metrics);
  } catch (thrown) {
    response.destroy(thrown as Error);
  }
}

function send(response: ServerResponse, [status, body]: Answer): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    'enactor-debug-version': VERSION,
  });
  response.end(text);
}
