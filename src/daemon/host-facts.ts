/** The machine that the daemon runs on, and whether that will do (core/host-needs.ts). */
import { release } from 'node:os';
import { glibcVersion } from '../adapters/netlink/libc-koffi.ts';
import type { Config } from '../core/config.ts';
import { EnactorError } from '../core/errors.ts';
import { type HostFacts, hostFindings, type LackingChain } from '../core/host-needs.ts';
import { VERSION } from '../core/version.ts';
import type { MachineReport } from '../ports/introspection.ts';

export function hostFacts(): HostFacts {
  return { kernel: release(), arch: process.arch, glibc: glibcVersion() };
}

/** Throws EnactorError `invalidArgument` with a sentence where the daemon cannot work whatever else there is. */
export function refuseHost(facts: HostFacts, config: Pick<Config, 'daemonMode' | 'ipvlan' | 'replyPaths'>): void {
  const refused = hostFindings(facts, config, null).filter(({ is }) => is === 'refused');
  if (refused.length > 0)
    throw new EnactorError('invalidArgument', `this host will not do: ${refused.map(({ says }) => says).join('; ')}`);
}

export function machineReport(
  facts: HostFacts,
  config: Pick<Config, 'daemonMode' | 'ipvlan' | 'replyPaths'>,
  lacking: readonly LackingChain[] | null,
): MachineReport {
  const found = hostFindings(facts, config, lacking);
  return { ...facts, enactor: VERSION, node: process.versions.node, lacks: found.map(({ says }) => says) };
}
