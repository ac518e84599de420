/** What people and tools may read of a running daemon: GET only, JSON, no secrets. */
import { createServer, type Server } from 'node:http';
import type { NodeReport } from '../../ports/introspection.ts';

/** The report, or null while there are no actors yet. */
export type ReportSource = () => NodeReport | null;

export function debugServer(report: ReportSource): Server {
  return createServer((request, response) => {
    request.resume();
    const [path] = (request.url ?? '').split('?');
    const [status, body] = request.method === 'GET' ? answerTo(path ?? '', report()) : [405, { error: 'only GET' }];
    const text = `${JSON.stringify(body)}\n`;
    response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) });
    response.end(text);
  });
}

function answerTo(path: string, report: NodeReport | null): [number, unknown] {
  if (path !== '/v1/report' && path !== '/v1/health') return [404, { error: `no such path: ${path.slice(0, 200)}` }];
  if (path === '/v1/report') return report === null ? [503, { error: 'the actors have not started' }] : [200, report];
  if (report === null) return [503, { state: 'starting', missing: ['actors'] }];
  // A dotted path of the node's chart, such as `running.serving`.
  const serving = report.state.split('.').includes('serving');
  return serving ? [200, { state: report.state }] : [503, { state: report.state, missing: report.missing }];
}
