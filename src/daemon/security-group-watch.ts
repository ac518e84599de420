/**
 * Looks at the security groups of this node's ENIs now and then, and tells what is new: in the log, and as an event on the node. Pods on an ENI
 * whose group isolates are told too, each once: their ADD succeeded, so that nothing else tells their owner.
 * Groups of the primary ENI that were changed are those of the next ENI from then on.
 *
 * Seldom, since groups change seldom; soon after a pod was refused because its group is full. Whoever may not describe groups goes
 * without: the node works all the same.
 */
import { EnactorError, failureOf } from '../core/errors.ts';
import { type GroupFinding, groupFindings, sameIds } from '../core/group-findings.ts';
import type { Lease } from '../core/lease.ts';
import { sandboxKey } from '../core/sandbox.ts';
import { untilEither } from '../core/until-either.ts';
import type { Clock } from '../ports/clock.ts';
import type { Cloud } from '../ports/cloud.ts';
import type { GroupsReport } from '../ports/introspection.ts';
import type { Log } from '../ports/log.ts';
import type { Metadata } from '../ports/metadata.ts';
import type { SecurityGroups } from '../ports/security-groups.ts';
import type { Notices } from './notices.ts';
import type { Refusals } from './refusals.ts';

const LOOK_TIMEOUT_MS = 30_000;
/** A refusal makes it look again, though not sooner than this. */
const SOONEST_MS = 30_000;

export type SecurityGroupWatchParts = {
  readonly cloud: Pick<Cloud, 'describeEnis'> & SecurityGroups;
  readonly metadata: Pick<Metadata, 'identity'>;
  /** null: those of the primary ENI. */
  readonly configured: () => readonly string[] | null;
  /** Ids of the ENIs that the node manages. */
  readonly managed: () => ReadonlySet<string>;
  /** Those that the next ENI will have, as the actors know it. */
  readonly used: () => readonly string[];
  /** Has the actors look them up anew. */
  readonly lookAgain: (signal: AbortSignal) => Promise<void>;
  readonly leases: () => readonly Lease[];
  readonly clock: Clock;
  readonly log: Log;
  readonly nodeName: string;
  readonly notices: Pick<Notices, 'tell'>;
  readonly refusals: Pick<Refusals, 'list'>;
};

export class SecurityGroupWatch {
  readonly #parts: SecurityGroupWatchParts;
  #report: GroupsReport | null = null;
  #told = new Set<string>();
  /** Sandboxes whose pods have been told, and of which group. */
  #toldPods = new Set<string>();

  constructor(parts: SecurityGroupWatchParts) {
    this.#parts = parts;
  }

  report(): GroupsReport | null {
    return this.#report;
  }

  /** In every period, and soon after a pod was refused for its group. Never rejects: what keeps it from looking is in the report. */
  async lookIfDue(periodMs: number, signal: AbortSignal): Promise<void> {
    const { clock, refusals } = this.#parts;
    const agoMs = clock.nowMs() - (this.#report?.lookedMs ?? -Infinity);
    const isFull = refusals.list().some(({ code }) => code === 'groupFull');
    if (agoMs >= periodMs || (isFull && agoMs >= SOONEST_MS)) await this.#look(signal);
    this.#tellPods();
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    try {
      const findings = await untilEither([signal, AbortSignal.timeout(LOOK_TIMEOUT_MS)], (limit) =>
        this.#findings(limit),
      );
      this.#report = { lookedMs: clock.nowMs(), findings, failure: null };
      const news = findings.filter(({ says }) => !this.#told.has(says));
      this.#told = new Set(findings.map(({ says }) => says));
      for (const finding of news) this.#tell(finding);
    } catch (thrown) {
      if (signal.aborted) return;
      const { detail } = failureOf(thrown);
      if (this.#report?.failure !== detail) log.warn({ why: detail }, 'the security groups cannot be looked at');
      this.#report = { lookedMs: clock.nowMs(), findings: this.#report?.findings ?? [], failure: detail };
    }
  }

  /** One event for each case, since those of one reason that come together become one. */
  #tell({ case: kind, groupIds: groups, eniIds: enis, says, whatToDo }: GroupFinding): void {
    const { log, notices, nodeName } = this.#parts;
    log.warn({ case: kind, groups, enis }, says);
    const target = { kind: 'node', name: nodeName, uid: null } as const;
    const reason = `SecurityGroup${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    notices.tell({ target, type: 'Warning', reason, message: `${says}. What to do: ${whatToDo}.` });
  }

  #tellPods(): void {
    const { leases, notices } = this.#parts;
    const isolating = this.#report?.findings.filter(({ case: kind }) => kind === 'isolates') ?? [];
    const now = new Set<string>();
    for (const { groupIds, eniIds, says, whatToDo } of isolating)
      for (const { sandbox, grant } of leases()) {
        if (!eniIds.includes(grant.eni.eniId)) continue;
        const key = `${sandboxKey(sandbox)} ${groupIds.join(',')}`;
        now.add(key);
        if (this.#toldPods.has(key)) continue;
        const message = `${says}, and ${grant.address.ipv4} of this pod is on ${grant.eni.eniId}, which is in it. What to do: ${whatToDo}.`;
        const target = { kind: 'pod', ...sandbox.pod } as const;
        notices.tell({ target, type: 'Warning', reason: 'SecurityGroupIsolates', message });
      }
    this.#toldPods = now;
  }

  /** The groups of the primary ENI are the next ENI's, also when somebody changes them while the daemon runs. */
  async #follow(primary: readonly string[], signal: AbortSignal): Promise<void> {
    const { configured, used, lookAgain, log } = this.#parts;
    if (configured() !== null || primary.length === 0 || sameIds(primary, used())) return;
    const before = used();
    try {
      await lookAgain(signal);
      log.info({ before, groups: used() }, 'the primary ENI has other security groups: new ENIs will have them');
    } catch (thrown) {
      // Asked again at the next look; what is found now is told all the same.
      log.debug({ why: failureOf(thrown).detail }, 'the groups of the primary ENI cannot be taken yet');
    }
  }

  async #findings(signal: AbortSignal): Promise<readonly GroupFinding[]> {
    const { cloud, metadata, managed } = this.#parts;
    const { instanceId } = await metadata.identity(signal);
    const enis = await cloud.describeEnis({ instanceId }, signal);
    const primary = enis.find((eni) => eni.type === 'Primary') ?? null;
    if (primary === null) throw new EnactorError('cloud', 'the primary ENI is not shown');
    await this.#follow(primary.securityGroupIds, signal);
    const ids = managed();
    const ours = enis.filter((eni) => ids.has(eni.eniId));
    const configured = this.#parts.configured();
    const named = [...ours.flatMap((eni) => eni.securityGroupIds), ...(configured ?? primary.securityGroupIds)];
    const groups = await cloud.securityGroups([...new Set(named)], signal);
    return groupFindings({ groups, primary, ours, configured });
  }
}
