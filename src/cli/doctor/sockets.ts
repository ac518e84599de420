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

/** `config`: the daemon's own, which knows its flags. */
export async function socketOutcomes({ flags }: Pick<ConfigReport, 'flags'>): Promise<readonly CheckOutcome[]> {
  const named = flags.filter(({ flag }) => flag in SOCKETS);
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
