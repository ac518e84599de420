/** Which lab a command is about: the only one that runs here, or of several the one that `--pid` names. Nothing is guessed. */
import { InvalidArgumentError, Option } from 'commander';
import { ControlClient, ControlError } from '../lab/control/control-client.ts';
import { findLabs, type RunningLab } from '../lab/control/find-lab.ts';
import { CommandError, EXIT } from './exit-codes.ts';
import { howWeAreCalled } from './how-we-are-called.ts';

/** How long a lab may take to tell what it has, when several have to be told apart. */
const TELLS_WITHIN_MS = 2_000;

/** Means the same with every command that has it. */
export const pidOption = (): Option =>
  new Option('--pid <pid>', 'which lab, where several run: the number at the top of its page').argParser(pidOf);

function pidOf(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError('a process id, as the lab’s page shows it.');
  return Number(text);
}

/** Rejects with CommandError: 3 when none runs, 1 when none has this pid, 2 when several run and none was named. */
export async function chosenLab(pid: number | undefined): Promise<RunningLab> {
  const labs = findLabs();
  const [first] = labs;
  if (first === undefined) {
    throw new CommandError(
      EXIT.cannot,
      `no lab of yours runs on this machine; start one with ${howWeAreCalled()} lab up`,
    );
  }
  if (pid === undefined && labs.length === 1) return first;
  const named = labs.find((lab) => lab.pid === pid);
  if (named !== undefined) return named;
  const there = (await Promise.all(labs.map(told))).map((line) => `\n  ${line}`).join('');
  if (pid !== undefined) throw new CommandError(EXIT.failed, `no lab of yours has pid ${pid}; here runs${there}`);
  throw new CommandError(EXIT.usage, `${labs.length} labs run here; say which with --pid:${there}`);
}

/** A line by which its owner knows it. */
async function told({ pid, socketPath }: RunningLab): Promise<string> {
  const silent = new Promise<null>((resolve) => setTimeout(resolve, TELLS_WITHIN_MS, null).unref());
  const status = await Promise.race([new ControlClient(socketPath).status().catch(() => null), silent]);
  if (status === null) return `--pid ${pid}  does not answer`;
  const { nodes, pods } = status;
  const names = nodes.length > 3 ? `${nodes.length} nodes` : nodes.map(({ name }) => name).join(', ');
  const some = pods
    .slice(0, 3)
    .map(({ name }) => name)
    .join(', ');
  return `--pid ${pid}  ${names}; ${pods.length === 0 ? 'no pods' : `${pods.length === 1 ? '1 pod' : `${pods.length} pods`}: ${some}${pods.length > 3 ? ' …' : ''}`}`;
}

/** Rejects with CommandError: 1 with the lab’s own words, 3 when it does not answer. */
export async function asked<T>(
  { pid, socketPath }: RunningLab,
  work: (client: ControlClient) => Promise<T>,
): Promise<T> {
  try {
    return await work(new ControlClient(socketPath));
  } catch (error) {
    if (error instanceof ControlError) throw new CommandError(EXIT.failed, error.message);
    if (error instanceof Error && 'code' in error)
      throw new CommandError(EXIT.cannot, `the lab with pid ${pid} does not answer: ${error.message}`);
    throw error;
  }
}
