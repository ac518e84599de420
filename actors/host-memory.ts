/**
 * What the looks at the host so far have shown of sandboxes: of which all was there once, and which were given back and may have left
 * something.
 *
 * That the plugin has done its part nobody says. It is known by seeing: once all of a sandbox's objects were there, what is missing later is
 * drift; an ADD that began longer ago than a plugin lives is over, however it went; and the plugin marks a device right before it makes the
 * rest in one batch, so that what is marked and still lacks something a while later has lost it. That one alone is known soon after a
 * restart of ours, to which all of it could happen meanwhile; a plugin that was held up there does not mind if we were quicker.
 */
import type { Lease } from '../src/core/lease.ts';
import type { Leftover } from '../src/core/leftover.ts';
import { PLUGIN_DEADLINE_MS } from '../src/core/limits.ts';
import { type SandboxKey, sandboxKey } from '../src/core/sandbox.ts';
import type { HostKept, HostWanted, PodKept, SandboxLeft } from '../src/ports/kernel.ts';

/** Looks at the clock of the plugin and at ours differ by what an answer takes. */
const GRACE_MS = 5_000;

/** Between the mark and the rest a plugin makes one call of the kernel. */
const BEGUN_GRACE_MS = 1_000;

type Dying = SandboxLeft & { readonly sinceMs: number };

export class HostMemory {
  readonly #leftoverGraceMs: () => number;
  readonly #seen = new Set<SandboxKey>();
  /** Since when what the plugin has begun was seen unfinished. */
  readonly #begunMs = new Map<SandboxKey, number>();
  readonly #dying = new Map<SandboxKey, Dying>();

  constructor(leftoverGraceMs: () => number) {
    this.#leftoverGraceMs = leftoverGraceMs;
  }

  /**
   * @param leases those that are bound @param claimed every sandbox that has a lease in whatever state, or asks for one
   * @param leftovers what the disk says of sandboxes that were released, by this life or an earlier one
   */
  wanted(
    leases: readonly Lease[],
    claimed: ReadonlySet<SandboxKey>,
    leftovers: ReadonlyMap<SandboxKey, Leftover>,
    nowMs: number,
  ): Pick<HostWanted, 'pods' | 'claimed' | 'dead'> {
    // One that was released in what is the future by now was so before the clock was set: how long ago nobody knows.
    for (const [key, { sandbox, ips, releasedAtMs }] of leftovers)
      this.#dying.set(key, { sandbox, ips, sinceMs: releasedAtMs > nowMs ? Number.NEGATIVE_INFINITY : releasedAtMs });
    for (const key of claimed) this.#dying.delete(key);
    for (const key of this.#seen) if (!claimed.has(key)) this.#seen.delete(key);
    for (const key of this.#begunMs.keys()) if (!claimed.has(key)) this.#begunMs.delete(key);
    return {
      pods: leases.map((lease) => this.#podOf(lease, nowMs)),
      claimed,
      dead: [...this.#dying.values()].filter(({ sinceMs }) => nowMs - sinceMs >= this.#leftoverGraceMs()),
    };
  }

  /**
   * What the look has shown. `released`: of the unclaimed ones, those of which the store says that they were given back. Answers with those
   * of `dead` that have nothing on the host any more.
   */
  learn(
    kept: HostKept,
    dead: readonly SandboxLeft[],
    released: readonly SandboxLeft[],
    nowMs: number,
  ): readonly SandboxKey[] {
    for (const key of kept.whole) {
      this.#seen.add(key);
      this.#begunMs.delete(key);
    }
    for (const key of kept.begun) if (!this.#begunMs.has(key)) this.#begunMs.set(key, nowMs);
    const failed = new Set(
      kept.drifts.filter(({ kind, outcome }) => kind === 'leftover' && outcome !== 'repaired').map((one) => one.object),
    );
    const cleared = dead.map(({ sandbox }) => sandboxKey(sandbox)).filter((key) => !failed.has(key));
    for (const key of cleared) this.#dying.delete(key);
    for (const left of released) {
      const key = sandboxKey(left.sandbox);
      if (!this.#dying.has(key)) this.#dying.set(key, { ...left, sinceMs: nowMs });
    }
    return cleared;
  }

  /**
   * When the first of what was seen may be acted on: what one that is dying left, what a plugin has begun. What could be acted on already
   * and is there yet is the repair ledger's to wait for: it would be looked at again and again for as long as it cannot be removed.
   * @param nowMs when the look began
   */
  nextDueMs(nowMs: number): number | null {
    const begun = [...this.#begunMs.values()].map((sinceMs) => sinceMs + BEGUN_GRACE_MS);
    const dying = [...this.#dying.values()].map(({ sinceMs }) => sinceMs + this.#leftoverGraceMs());
    const instants = [...begun.filter((dueMs) => dueMs > nowMs), ...dying.filter((dueMs) => dueMs >= nowMs)];
    return instants.length === 0 ? null : Math.min(...instants);
  }

  #podOf({ sandbox, grant, boundAtMs }: Lease, nowMs: number): PodKept {
    const begunMs = this.#begunMs.get(sandboxKey(sandbox)) ?? null;
    const unfinished = begunMs !== null && nowMs - begunMs >= BEGUN_GRACE_MS;
    const old = unfinished || nowMs - boundAtMs >= PLUGIN_DEADLINE_MS + GRACE_MS;
    const standing = this.#seen.has(sandboxKey(sandbox)) ? 'seen' : old ? 'old' : 'young';
    return { sandbox, ips: ipsOf(grant.address), routeTable: grant.eni.device.routeTable, standing };
  }
}

function ipsOf({ ipv4, ipv6 }: Lease['grant']['address']): readonly string[] {
  return ipv6 === null ? [ipv4] : [ipv4, ipv6];
}
