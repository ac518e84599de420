/** Whether all of the daemon's sockets take callers: a runtime's plugin, Terway's tools and the device plugin come by others than we do. */
import { connect } from 'node:net';
import type { ConfigReport } from '../../core/config-report.ts';
import { socketPathProblem } from '../../core/limits.ts';
import { type CheckOutcome, ok, problem } from './check.ts';

const PATIENCE_MS = 2_000;
/** Which flags name them, and who is cut off without. */
const SOCKETS: Readonly<Record<string, string>> = {
  '--json-socket': 'the CNI plugin',
  '--grpc-socket': 'Terway’s plugin and terway-cli',
};

/**
 * `config`: the daemon's own, which knows its flags; `debugSocket`: by which path we reach it. Where it sees other paths than we do (in the
 * lab, from outside a container) the others are looked for in the same place.
 */
export async function socketOutcomes(
  { flags }: Pick<ConfigReport, 'flags'>,
  debugSocket: string,
): Promise<readonly CheckOutcome[]> {
  const own = flags.find(({ flag }) => flag === '--debug-socket')?.value ?? debugSocket;
  const root = debugSocket.endsWith(own) ? debugSocket.slice(0, -own.length) : '';
  const named = flags
    .filter(({ flag }) => flag in SOCKETS)
    .map(({ flag, value }) => ({ flag, value: `${root}${value}` }));
  const tried = await Promise.all(named.map(async ({ flag, value }) => ({ flag, value, why: await whyNot(value) })));
  const shut = tried.filter(({ why }) => why !== null);
  if (shut.length === 0) return [ok(`${tried.map(({ value }) => value).join(' and ')} take callers`)];
  return shut.map(({ flag, value, why }) =>
    problem(
      `${value} takes no callers, and ${SOCKETS[flag]} come by it: ${why}`,
      'the daemon makes a socket anew that was deleted; else see its log, and who has mounted something over it',
    ),
  );
}

/** null when it takes us. */
function whyNot(path: string): Promise<string | null> {
  const problem = socketPathProblem(path);
  if (problem !== null) return Promise.resolve(problem);
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (why: string | null): void => {
      socket.destroy();
      resolve(why);
    };
    socket.setTimeout(PATIENCE_MS, () => end(`no answer within ${PATIENCE_MS} ms`));
    socket.once('connect', () => end(null));
    socket.once('error', (error) => end(error.message));
  });
}
