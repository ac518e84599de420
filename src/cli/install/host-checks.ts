/**
 * Whether a node can be installed on at all, before anything is written to it: what every machine has to have (core/host-needs.ts), and whether
 * another plugin's configuration comes before ours. The plugin itself is tried in its place, before it takes it (install.ts).
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { takenInsteadOf } from '../../core/cni-order.ts';
import { type HostFacts, hostFindings } from '../../core/host-needs.ts';
import type { CheckResult } from '../doctor/check.ts';

/** What every node wants; what the configuration adds is the daemon's to look at. */
const WANTS = { daemonMode: 'ENIMultiIP', ipvlan: false, replyPaths: true } as const;
const CONFLIST = '10-enactor.conflist';

/** `root`: where the host's /etc is. */
export function hostChecks(host: HostFacts, root: string): readonly CheckResult[] {
  const found = hostFindings(host, WANTS, null).map(
    ({ is, says }): CheckResult => ({
      ...{ check: 'machine', is: is === 'refused' ? 'problem' : 'warning', says },
      whatToDo: 'another machine or image for this node, or leave it out by a label; deploy/operation.md, "Hosts"',
    }),
  );
  const well: CheckResult = { check: 'machine', is: 'ok', says: `${host.arch}, kernel ${host.kernel}`, whatToDo: null };
  return [...(found.length === 0 ? [well] : found), orderCheck(root)];
}

/** Runtimes take the first file of the directory, by name. */
function orderCheck(root: string): CheckResult {
  const folder = join(root, 'etc/cni/net.d');
  const files = existsSync(folder) ? readdirSync(folder) : [];
  const first = takenInsteadOf(CONFLIST, files);
  if (first === null) return { check: 'other CNI', is: 'ok', says: 'none comes before ours', whatToDo: null };
  const whatToDo = `remove /etc/cni/net.d/${first} once no pod of it is left on the node`;
  const says = `${first} comes before ${CONFLIST}: the runtime goes on using it`;
  return { check: 'other CNI', is: 'warning', says, whatToDo };
}
