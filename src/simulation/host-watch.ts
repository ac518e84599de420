/**
 * Somebody else changes a node's host; and what he changes for the first time is mended within seconds, as long as the node is well.
 *
 * Whoever changes the same thing again is given less and less of a fight: that is the repair ledger's own test.
 */
import type { KernelKeeperContext } from '../../statecharts/kernel-keeper.ts';
import { isTaken } from '../core/own-eni.ts';
import type { Flaw } from './plugged-kernel.ts';
import type { SimNode } from './sim-node.ts';
import type { Report } from './violation.ts';
import type { Witness } from './witness.ts';

/** A look at the host on its way, and the next one, which sees what came during it. */
const REPAIR_MS = 4_000;

export class HostWatch {
  readonly #node: SimNode;
  readonly #witness: Witness;
  readonly #report: Report;
  /** How often each thing was changed so far. */
  readonly #spoilt = new Map<string, number>();

  constructor(node: SimNode, witness: Witness, report: Report) {
    this.#node = node;
    this.#witness = witness;
    this.#report = report;
  }

  spoil(flaw: Flaw, which: number): void {
    const node = this.#node;
    const { devices, life, settings, mishaps } = node;
    const { kernelFailures } = mishaps;
    const spoilt = devices.spoil(flaw, which);
    if (spoilt === null) return;
    const { whose, flaws } = spoilt;
    const object = `${flaw} ${whose}`;
    const times = (this.#spoilt.get(object) ?? 0) + 1;
    this.#spoilt.set(object, times);
    // What else is wrong there may be why the keeper takes it for unfinished.
    if (times > 1 || node.deaf || flaws.size > 1 || !this.#keeperIsWell() || !this.#isKept(whose)) return;
    life.after(settings.kernelGatherMs + REPAIR_MS, () => {
      if (this.#spoilt.get(object) !== times || node.defective || mishaps.kernelFailures !== kernelFailures) return;
      if (!this.#isKept(whose)) return;
      this.#witness.checks += 1;
      const isThere = flaws === (devices.pods.get(whose)?.flaws ?? devices.flaws.get(whose));
      if (isThere && flaws.has(flaw))
        this.#report('7', `node ${node.index + 1} lets ${object} be wrong for ${REPAIR_MS} ms`);
    });
  }

  /** Its looks at the host do not fail, also not the one that is under way. */
  #keeperIsWell(): boolean {
    const keeper = this.#node.snapshot('kernelKeeper')?.context as KernelKeeperContext | undefined;
    return this.#node.mishaps.failing.kernel === 0 && keeper?.failures === 0;
  }

  /** What the kernel keeper has to care for: an ENI in use, a lease that is bound and whose plugin is done. */
  #isKept(whose: string): boolean {
    const { serving, books, devices } = this.#node;
    if (!serving) return false;
    const enis = books.enis.filter((eni) => eni.matches('inUse'));
    // The device of an ENI that a pod has for itself is the pod's.
    if (enis.some(({ context: { mac, book } }) => mac?.toLowerCase() === whose && !isTaken(book))) return true;
    // Its namespace may be gone with all that it had.
    if (!devices.pods.has(whose)) return false;
    return enis.some(({ context }) => context.book.some((entry) => entry.state === 'bound' && entry.sandbox === whose));
  }
}
