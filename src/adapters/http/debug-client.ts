/** The other end of the debug socket: one answer, a command, or the lines of a stream. */
import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import { socketPathProblem } from '../../core/limits.ts';

/** A daemon that says nothing for so long is taken for frozen; on a machine that is much too busy a second or two is nothing. */
const SILENT_MS = 5_000;
/** A stream says something every ten seconds. */
const STREAM_SILENT_MS = 25_000;

export type DebugAnswer = { readonly status: number; readonly body: string };

/** Rejects when nothing listens there or it does not answer; RangeError for a path that would be dialled cut short. */
export async function askDebug(socketPath: string, path: string, method: 'GET' | 'POST' = 'GET'): Promise<DebugAnswer> {
  const response = await opened(socketPath, path, method, null);
  let body = '';
  response.setEncoding('utf8');
  for await (const text of response) body += text;
  if (path.startsWith('/v1') && response.headers['enactor-debug-version'] === undefined)
    throw new Error('what answers there is no daemon of ours');
  return { status: response.statusCode ?? 0, body };
}

/**
 * The lines of a stream until `signal` fires or the daemon ends it. Rejects as `askDebug` does, and with the answer's body when it is no
 * stream; a daemon that has become silent counts as gone.
 */
export async function* debugLines(socketPath: string, path: string, signal: AbortSignal): AsyncGenerator<string> {
  if (signal.aborted) return;
  const response = await opened(socketPath, path, 'GET', signal);
  if (response.statusCode !== 200) {
    let body = '';
    for await (const text of response.setEncoding('utf8')) body += text;
    throw new Error(`${path} answered ${response.statusCode}: ${body.slice(0, 200).trim()}`);
  }
  response.setTimeout(STREAM_SILENT_MS, () => response.destroy(silent(socketPath, STREAM_SILENT_MS)));
  try {
    for await (const line of createInterface({ input: response })) if (line !== '') yield line;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    response.destroy();
  }
}

function silent(socketPath: string, ms: number): Error {
  return new Error(`${socketPath} did not answer within ${ms} ms`);
}

function opened(
  socketPath: string,
  path: string,
  method: string,
  signal: AbortSignal | null,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const problem = socketPathProblem(socketPath);
    if (problem !== null) throw new RangeError(problem);
    const options = { socketPath, path, method, agent: false, ...(signal === null ? {} : { signal }) };
    const ask = request({ ...options, timeout: SILENT_MS }, resolve);
    ask.once('timeout', () => ask.destroy(silent(socketPath, SILENT_MS)));
    ask.on('error', reject);
    ask.end();
  });
}
