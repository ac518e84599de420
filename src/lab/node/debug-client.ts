/** Reads a daemon's debug socket: what it reports of its actors, and whether it serves. */
import { request } from 'node:http';
import type { ConfigReport } from '../../core/config-report.ts';
import { socketPathProblem } from '../../core/limits.ts';
import type { NodeReport } from '../../ports/introspection.ts';

const TIMEOUT_MS = 2_000;

/** Rejects when nothing listens there or the answer is no report; RangeError for a path that would be dialled cut short. */
export async function readReport(socketPath: string): Promise<NodeReport> {
  return JSON.parse(await answer(socketPath, '/v1/report')) as NodeReport; // the daemon's own type, of the same build
}

/** The configuration in force. Rejects as `readReport` does. */
export async function readConfigReport(socketPath: string): Promise<ConfigReport> {
  return JSON.parse(await answer(socketPath, '/v1/config')) as ConfigReport; // as above
}

async function answer(socketPath: string, path: string): Promise<string> {
  const { status, body } = await get(socketPath, path);
  if (status !== 200) throw new Error(`${socketPath} answered ${status}: ${body.slice(0, 200)}`);
  return body;
}

/** True once the daemon serves; false while it does not, or nothing listens. */
export async function isServing(socketPath: string): Promise<boolean> {
  try {
    return (await get(socketPath, '/v1/health')).status === 200;
  } catch {
    return false;
  }
}

function get(socketPath: string, path: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const problem = socketPathProblem(socketPath);
    if (problem !== null) throw new RangeError(problem);
    const ask = request({ socketPath, path, timeout: TIMEOUT_MS }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (text: string) => {
        body += text;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }));
      response.once('error', reject);
    });
    ask.once('timeout', () => ask.destroy(new Error(`${socketPath} did not answer within ${TIMEOUT_MS} ms`)));
    ask.once('error', reject);
    ask.end();
  });
}
