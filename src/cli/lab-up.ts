/** `enactor lab up`: enters the box, then lives in it or checks once. */
import type { DaemonMode } from '../core/daemon-mode.ts';
import { BOX_VARIABLE, BoxError, insideBox } from '../lab/box/box-command.ts';
import { onStopRequest, runInBox } from '../lab/box/run-in-box.ts';
import { checkOnce, summaryLine } from '../lab/checks/check-once.ts';
import { LAB_PROCESS } from '../lab/control/find-lab.ts';
import { LAB_INSTANCE_TYPE, labTopology } from '../lab/lab-topology.ts';
import { runLive } from '../lab/live.ts';
import type { ProxyForm } from '../lab/services/kube-proxy.ts';
import { missingForServices } from '../lab/services/needs.ts';
import { CommandError, EXIT } from './exit-codes.ts';
import { howWeAreCalled } from './how-we-are-called.ts';

export type LabUpOptions = {
  readonly once: boolean;
  readonly nodes: number;
  /** null: 10 for the check, which needs two ENIs on a node, and 6 to look at. */
  readonly pods: number | null;
  readonly profile: 'fast' | 'realistic';
  readonly plant: 'wrong-rule' | null;
  /** Where pods' addresses come from. */
  readonly mode: DaemonMode;
  /** Pods get IPv4/IPv6 pairs. */
  readonly dualStack: boolean;
  /** The form of kube-proxy, or no services. */
  readonly services: ProxyForm | null;
};

const configOf = ({ dualStack, mode }: Pick<LabUpOptions, 'dualStack' | 'mode'>) => ({
  ...(dualStack ? { config: { ip_stack: 'dual' } } : {}),
  mode,
});

const PODS_TO_CHECK = 10;
const PODS_TO_WATCH = 6;
/** Each has an ENI, and the lab's instances have three. */
const PODS_OF_THEIR_OWN = 5;

/** Resolves with the exit code. Throws CommandError. */
export async function labUp(options: LabUpOptions): Promise<number> {
  const missing = options.services === null ? null : missingForServices();
  if (missing !== null) throw new CommandError(EXIT.cannot, missing);
  if (!insideBox()) {
    try {
      return await runInBox([process.execPath, ...process.execArgv, ...process.argv.slice(1)]);
    } catch (error) {
      if (error instanceof BoxError) throw new CommandError(EXIT.cannot, error.message);
      throw error;
    }
  }
  process.title = LAB_PROCESS;
  const stop = new AbortController();
  onStopRequest(
    () => stop.abort(),
    () => process.exit(EXIT.interrupted), // asked twice: the kernel takes the box away with us
  );
  try {
    return await (options.once ? check(options, stop.signal) : live(options, stop.signal));
  } catch (error) {
    if (stop.signal.aborted) return EXIT.interrupted;
    // What keeps the lab from starting is a daemon's end or a missing file: the sentence says it all.
    throw new CommandError(EXIT.failed, error instanceof Error ? error.message : String(error));
  }
}

async function check(options: LabUpOptions, signal: AbortSignal): Promise<number> {
  const { nodes, profile, pods, plant } = options;
  const say = (line: string) => process.stdout.write(`${line}\n`);
  const result = await checkOnce({
    ...configOf(options),
    nodes,
    profile,
    plant,
    pods: pods ?? (options.mode === 'ENIOnly' ? PODS_OF_THEIR_OWN : PODS_TO_CHECK),
    signal,
    say,
  });
  say(summaryLine(result));
  return result.ok ? EXIT.ok : EXIT.failed;
}

async function live(options: LabUpOptions, signal: AbortSignal): Promise<number> {
  const { nodes, profile, pods, services } = options;
  const trouble = await runLive({
    ...configOf(options),
    ...(services === null ? {} : { topology: labTopology(nodes, LAB_INSTANCE_TYPE.instanceType, true) }),
    services,
    nodes,
    profile,
    signal,
    pods: pods ?? (options.mode === 'ENIOnly' ? PODS_OF_THEIR_OWN : PODS_TO_WATCH),
    out: process.stdout,
    rootless: process.env[BOX_VARIABLE] === 'rootless',
    command: howWeAreCalled(),
  });
  return trouble.length === 0 ? EXIT.ok : EXIT.failed;
}
