/** Reads a daemon's debug socket: what it reports of its actors, and whether it serves. */
import { askDebug } from '../../adapters/http/debug-client.ts';
import type { ConfigReport } from '../../core/config-report.ts';
import type { NodeReport } from '../../ports/introspection.ts';

/** Rejects when nothing listens there or the answer is no report; RangeError for a path that would be dialled cut short. */
export async function readReport(socketPath: string): Promise<NodeReport> {
  return JSON.parse(await answer(socketPath, '/v1/report')) as NodeReport; // the daemon's own type, of the same build
}

/** The configuration in force. Rejects as `readReport` does. */
export async function readConfigReport(socketPath: string): Promise<ConfigReport> {
  return JSON.parse(await answer(socketPath, '/v1/config')) as ConfigReport; // as above
}

async function answer(socketPath: string, path: string): Promise<string> {
  const { status, body } = await askDebug(socketPath, path);
  if (status !== 200) throw new Error(`${socketPath} answered ${status}: ${body.slice(0, 200)}`);
  return body;
}

/** True once the daemon serves; false while it does not, or nothing listens. */
export async function isServing(socketPath: string): Promise<boolean> {
  try {
    return (await askDebug(socketPath, '/v1/health')).status === 200;
  } catch {
    return false;
  }
}
