/**
 * What of this host is not as the node needs it: what the kernel keeper cannot mend or has to mend again and again, and agents of the guest that
 * configure devices. What the keeper tells is known of any node; the rest only of the one that we are on.
 * Source: cases/field P1.
 */
import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { guestAgents } from '../../adapters/datapath/guest-agents.ts';
import { isContested, type RepairEntry } from '../../core/repair-ledger.ts';
import { times } from '../../lab/view/words.ts';
import type { EniReport, NodeReport } from '../../ports/introspection.ts';
import { deviceNames } from '../local-devices.ts';
import { type CheckOutcome, type CheckResult, ok, problem, warning } from './check.ts';

/** null: another host's, of which nothing is known. */
export type HostSeen = {
  readonly kernel: string;
  readonly forwardsIpv4: boolean | null;
  /** Of this network namespace: a node of a lab has one of its own, whose settings are not ours. */
  readonly devices: readonly string[];
  readonly agents: readonly string[];
};

/** Of the node's report. */
type Known = Pick<NodeReport, 'host'> & { readonly enis: readonly Pick<EniReport, 'device'>[] };

const FORWARDING = '/proc/sys/net/ipv4/ip_forward';
/** These are what an agent puts onto a device that it takes for its own. */
const AGENTS_DEEDS: readonly string[] = ['foreignAddress', 'foreignRoute'];

/** How an agent is told to leave the ENIs' devices alone. Source: systemd.network(5), NetworkManager.conf(5), dhcpcd.conf(5). */
const LEAVE_ALONE: Readonly<Record<string, (devices: readonly string[]) => string>> = {
  'systemd-networkd': (devices) =>
    `/etc/systemd/network/01-enactor.network with [Match] Name=${devices.join(' ')} and [Link] Unmanaged=yes`,
  NetworkManager: (devices) =>
    `/etc/NetworkManager/conf.d/enactor.conf with [keyfile] unmanaged-devices=${devices.map((name) => `interface-name:${name}`).join(';')}`,
  dhcpcd: (devices) => `denyinterfaces ${devices.join(' ')} in /etc/dhcpcd.conf`,
  'eni.service': () => 'systemctl disable --now eni.service',
  'cloud-init': () => 'network: {config: disabled} in /etc/cloud/cloud.cfg.d/99-enactor.cfg',
};

export function thisHost(): HostSeen {
  return { kernel: release(), forwardsIpv4: forwards(), devices: [...deviceNames().values()], agents: guestAgents() };
}

export function hostResults(report: Known, seen: HostSeen | null): readonly CheckResult[] {
  const things = report.host?.things ?? [];
  const byAgents = things.filter(({ kind }) => AGENTS_DEEDS.includes(kind));
  const others = things.filter(({ kind }) => !AGENTS_DEEDS.includes(kind));
  return [
    ...kernelOutcomes(report, others, seen).map((outcome) => ({ check: 'kernel', ...outcome })),
    ...agentOutcomes(report, byAgents, seen).map((outcome) => ({ check: 'guest agents', ...outcome })),
  ];
}

function kernelOutcomes(
  { host, enis }: Known,
  things: readonly RepairEntry[],
  seen: HostSeen | null,
): readonly CheckOutcome[] {
  const found = [...things.flatMap(thingOutcome)];
  const isThere = enis.some(({ device }) => device !== null && seen?.devices.includes(device));
  if (isThere && seen?.forwardsIpv4 === false)
    found.push(
      problem(`${FORWARDING} is 0: no packet of a pod passes`, 'sysctl -w net.ipv4.ip_forward=1, and find who set it'),
    );
  if (found.length > 0) return found;
  const kernel = seen === null ? '' : `Linux ${seen.kernel}; `;
  if (host === undefined) return [ok(`${kernel}not looked at yet`)];
  return [
    ok(
      `${kernel}devices, routes and rules are as they should be, ${host.repairs === 0 ? 'nothing' : times(host.repairs)} repaired since the start`,
    ),
  ];
}

function thingOutcome(thing: RepairEntry): readonly CheckOutcome[] {
  const { kind, object, outcome, detail } = thing;
  const why = detail === null ? '' : `: ${detail}`;
  if (outcome === 'failed')
    return [
      problem(
        `${kind} ${object} cannot be repaired${why}`,
        'see the log of enactord; a kernel may lack what it asks for',
      ),
    ];
  if (outcome === 'beyondRepair')
    return [
      problem(
        `${kind} ${object} is gone, and cannot be made anew from outside${why}`,
        thing.pod === null ? 'see the log of enactord' : `delete the pod ${thing.pod}, so that it starts anew`,
      ),
    ];
  if (!isContested(thing)) return [];
  return [
    warning(
      `${kind} ${object}: somebody undoes its repair again and again (${times(thing.times)})${why}`,
      'find the agent that sets it (a tuned profile, sysctl.d, another CNI), and let it leave this alone',
    ),
  ];
}

function agentOutcomes(
  { host, enis }: Known,
  things: readonly RepairEntry[],
  seen: HostSeen | null,
): readonly CheckOutcome[] {
  const running =
    seen === null ? '' : seen.agents.length === 0 ? 'none seen here' : `running here: ${seen.agents.join(', ')}`;
  const devices = enis.flatMap(({ device }) => device ?? []);
  const contested = things.filter(isContested);
  if (contested.length > 0)
    return contested.map(({ object, times: often, detail }) =>
      warning(
        `${object} is put back again and again (removed ${times(often)})${detail === null ? '' : `: ${detail}`}`,
        `tell the agent to leave these devices alone${leaveAlone(seen?.agents ?? [], devices)}`,
      ),
    );
  if (host === undefined && running === '') return [];
  const removed = things.reduce((sum, { times: often }) => sum + often, 0);
  const did =
    removed === 0 ? 'nothing was put onto an ENI' : `${removed} addresses or routes of theirs were removed from ENIs`;
  return [ok([running, did].filter((part) => part !== '').join('; '))];
}

function leaveAlone(agents: readonly string[], devices: readonly string[]): string {
  const named = devices.length === 0 ? ['eth1'] : devices;
  const how = Object.entries(LEAVE_ALONE)
    .filter(([agent]) => agents.length === 0 || agents.includes(agent))
    .map(([agent, words]) => `${agent}: ${words(named)}`);
  return how.length === 0 ? '' : `. ${how.join('; ')}`;
}

function forwards(): boolean | null {
  try {
    return readFileSync(FORWARDING, 'utf8').trim() === '1';
  } catch {
    return null;
  }
}
