/** What commands ask of one daemon. Whatever goes wrong is a sentence that names the socket, and an exit code. */
import { askDebug, debugLines } from '../adapters/http/debug-client.ts';
import type { Page } from '../adapters/http/debug-pages.ts';
import { findLabs } from '../lab/control/find-lab.ts';
import { DEBUG_SOCKET } from './debug-socket.ts';
import { CommandError, EXIT } from './exit-codes.ts';

/** Rejects with CommandError when no daemon answers there. */
export async function fromDaemon<T>(socketPath: string, read: (socketPath: string) => Promise<T>): Promise<T> {
  return await read(socketPath).catch((error: unknown) => {
    if (error instanceof CommandError) throw error;
    if (error instanceof RangeError) throw new CommandError(EXIT.usage, error.message);
    const why = error instanceof Error ? error.message : String(error);
    throw new CommandError(
      EXIT.cannot,
      `no daemon answers at ${socketPath}: ${why}${labHint(socketPath === DEBUG_SOCKET)}`,
    );
  });
}

/** Most who ask this machine’s own node by mistake mean one of their lab. */
export function labHint(ownNode: boolean): string {
  return ownNode && findLabs().length > 0 ? '\na lab runs on this machine; its nodes are asked with --lab node-1' : '';
}

/** The JSON at a path. Rejects with CommandError: 3 when no daemon answers, 1 with its own words when it has no such thing. */
export async function askNode<T>(socketPath: string, path: string, method: 'GET' | 'POST' = 'GET'): Promise<T> {
  const { status, body } = await fromDaemon(socketPath, () => askDebug(socketPath, path, method));
  if (status >= 200 && status < 300) return JSON.parse(body) as T; // the daemon's own type, of the same build
  throw new CommandError(
    status === 503 ? EXIT.cannot : EXIT.failed,
    refusalIn(body) ?? `${socketPath} answered ${status}`,
  );
}

/** All items of a paged list. */
export async function askAll<T>(socketPath: string, path: string): Promise<readonly T[]> {
  const items: T[] = [];
  let after = '';
  for (;;) {
    const query = after === '' ? '' : `?after=${encodeURIComponent(after)}`;
    const page = await askNode<Page<T>>(socketPath, `${path}${query}`);
    items.push(...page.items);
    if (page.next === null || page.items.length === 0) return items;
    after = page.next;
  }
}

/** Lines of a stream until `signal` fires. Rejects with CommandError when the daemon is not there, or goes. */
export async function* nodeLines(socketPath: string, path: string, signal: AbortSignal): AsyncGenerator<string> {
  try {
    yield* debugLines(socketPath, path, signal);
  } catch (error) {
    if (signal.aborted) return;
    await fromDaemon(socketPath, () => Promise.reject(error));
  }
  if (!signal.aborted) throw new CommandError(EXIT.failed, `the daemon at ${socketPath} has ended the stream`);
}

function refusalIn(body: string): string | null {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return typeof error === 'string' ? error : null;
  } catch {
    return null;
  }
}
