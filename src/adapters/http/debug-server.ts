/**
 * What people and tools may read of a running daemon: GET only, JSON, no secrets.
 *
 * `/v1/health` · `/v1/report` · `/v1/config` · `/v1/journal?since=SEQ&limit=N`: the inputs after SEQ (default 0), oldest first, N at most (default and
 * bound JOURNAL_PAGE_MAX); `next` of a page is the `since` of the one after it.
 */
import { createServer, type Server } from 'node:http';
import type { ConfigReport } from '../../core/config-report.ts';
import { JOURNAL_PAGE_MAX, type JournalQuery } from '../../core/input-journal.ts';
import type { Introspection, NodeReport } from '../../ports/introspection.ts';

/** What the actors tell, or null while there are none yet. */
export type DebugSource = () => Introspection | null;

/** `config` tells the configuration; without it nobody can ask for it. */
export function debugServer(source: DebugSource, config: () => ConfigReport | null = () => null): Server {
  return createServer((request, response) => {
    request.resume();
    const [path, query] = (request.url ?? '').split('?');
    const [status, body] =
      request.method === 'GET' ? answerTo(path ?? '', query ?? '', source(), config) : [405, { error: 'only GET' }];
    const text = `${JSON.stringify(body)}\n`;
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    response.end(text);
  });
}

function answerTo(
  path: string,
  query: string,
  introspection: Introspection | null,
  config: () => ConfigReport | null,
): [number, unknown] {
  if (path === '/v1/config') {
    const report = config();
    return report === null ? [503, { error: 'the configuration is not known yet' }] : [200, report];
  }
  if (path !== '/v1/journal') return reportTo(path, introspection?.report() ?? null);
  if (introspection === null) return [503, { error: 'the actors have not started' }];
  const asked = journalQuery(query);
  return asked === null
    ? [400, { error: `since and limit are whole numbers, limit 1 to ${JOURNAL_PAGE_MAX}` }]
    : [200, introspection.journal(asked)];
}

/** null for what cannot be asked. */
function journalQuery(query: string): JournalQuery | null {
  const params = new URLSearchParams(query);
  const number = (name: string, otherwise: number): number => Number(params.get(name) ?? otherwise);
  const [since, limit] = [number('since', 0), number('limit', JOURNAL_PAGE_MAX)];
  const possible = Number.isSafeInteger(since) && Number.isSafeInteger(limit);
  return possible && since >= 0 && limit >= 1 && limit <= JOURNAL_PAGE_MAX ? { since, limit } : null;
}

function reportTo(path: string, report: NodeReport | null): [number, unknown] {
  if (path !== '/v1/report' && path !== '/v1/health') return [404, { error: `no such path: ${path.slice(0, 200)}` }];
  if (path === '/v1/report') return report === null ? [503, { error: 'the actors have not started' }] : [200, report];
  if (report === null) return [503, { state: 'starting', missing: ['actors'] }];
  // A dotted path of the node's chart, such as `running.serving`.
  const serving = report.state.split('.').includes('serving');
  return serving ? [200, { state: report.state }] : [503, { state: report.state, missing: report.missing }];
}
