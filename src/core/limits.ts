/** Limits that more than one layer must agree on. */

/** A unix socket path has to fit sockaddr_un.sun_path with its NUL; longer ones are cut without an error. Source: unix(7). */
export const SOCKET_PATH_MAX_BYTES = 107;

/** Deadlines nest: the plugin gives up first, so that it can roll back before the runtime kills it. */
export const PLUGIN_DEADLINE_MS = 110_000;
export const DAEMON_DEADLINE_MS = 118_000;

const ANSWER_RESERVE_MS = 500;

/**
 * What a callee may use of the time its caller waits: all but a little, in which the answer travels. Of two timers that end at once the
 * outer one wins, and it knows nothing of the cause that the inner one would have told.
 */
export function innerTimeoutMs(outerMs: number): number {
  return Math.max(0, outerMs - Math.min(ANSWER_RESERVE_MS, Math.ceil(outerMs / 10)));
}

/** Null when the path can be bound and dialled as it is written, else the sentence to show. */
export function socketPathProblem(path: string): string | null {
  const size = new TextEncoder().encode(path).length;
  if (path.length === 0) return 'socket path is empty';
  if (size <= SOCKET_PATH_MAX_BYTES) return null;
  return `socket path ${path} is ${size} bytes long; the limit is ${SOCKET_PATH_MAX_BYTES}`;
}
