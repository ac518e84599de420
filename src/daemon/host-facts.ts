/** The machine that the daemon runs on, and whether that will do (core/host-needs.ts). */
import { release } from 'node:os';
import { glibcVersion } from '../adapters/netlink/libc-koffi.ts';
import type { Config } from '../core/config.ts';
import { EnactorError } from '../core/errors.ts';
import { type HostFacts, hostFindings, type LackingChain } from '../core/host-needs.ts';
import { VERSION } from '../core/version.ts';
import type { MachineReport } from '../ports/introspection.ts';
import type { Log } from '../ports/log.ts';

export function hostFacts(): HostFacts {
  return { kernel: release(), arch: process.arch, glibc: glibcVersion() };
}

/** Throws EnactorError `invalidArgument` with a sentence where the daemon cannot work whatever else there is. */
export function refuseHost(facts: HostFacts, config: Pick<Config, 'daemonMode' | 'ipvlan' | 'replyPaths'>): void {
  const refused = hostFindings(facts, config, null).filter(({ is }) => is === 'refused');
  if (refused.length > 0)
    throw new EnactorError('invalidArgument', `this host will not do: ${refused.map(({ says }) => says).join('; ')}`);
}

function machineReport(
  facts: HostFacts,
  config: Pick<Config, 'daemonMode' | 'ipvlan' | 'replyPaths'>,
  lacking: readonly LackingChain[] | null,
): MachineReport {
  const found = hostFindings(facts, config, lacking);
  return { ...facts, enactor: VERSION, node: process.versions.node, lacks: found.map(({ says }) => says) };
}

const LACKS_TOLD_MS = 5_000;

/**
 * What the machine is, at once; what its kernel lacks is asked a while later, since that takes the kernel 10 to 15 ms, for which nobody is to wait as the
 * daemon starts. People are told of each thing that it lacks once.
 */
export function machineTold(
  { facts, config, lackingChains, log }: MachineTold,
  end: AbortSignal,
  afterMs: number = LACKS_TOLD_MS,
): () => MachineReport {
  let machine = machineReport(facts, config, null);
  const { enactor, kernel, arch, glibc, node } = machine;
  log.info({ enactor, kernel, arch, glibc, node }, 'the host');
  for (const says of machine.lacks) log.warn({}, says);
  setTimeout(() => {
    if (end.aborted) return;
    const { lacks } = machine;
    machine = machineReport(facts, config, lackingChains());
    for (const says of machine.lacks) if (!lacks.includes(says)) log.warn({}, says);
  }, afterMs).unref();
  return () => machine;
}

export type MachineTold = {
  readonly facts: HostFacts;
  readonly config: Pick<Config, 'daemonMode' | 'ipvlan' | 'replyPaths'>;
  /** null where the kernel cannot be asked. */
  readonly lackingChains: () => readonly LackingChain[] | null;
  readonly log: Pick<Log, 'info' | 'warn'>;
};
