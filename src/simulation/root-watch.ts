/**
 * What the root of a node's actors does with those who call it, with what it remembers, and when it is told to stop.
 *
 * A node that serves, or makes do with what it remembers, passes on whatever it is asked; one that does not serve, and is told to stop, ends
 * at once. What is remembered is looked at once in a life for want of patience, and what was seen of the cloud is used once.
 */
import type { NodeContext, Remembered } from '../../statecharts/node.ts';
import type { Report } from './violation.ts';

type Heard = { readonly type: string; readonly requestId?: string; readonly output?: { readonly value?: unknown } };

/** A caller that this states has to be passed on. */
const PASSED_ON: readonly (readonly [RegExp, readonly string[]])[] = [
  [/^running\.(serving|degraded\.(identifying|looking|backingOff))$/, ['allocate', 'release', 'forget']],
  [/^running\.draining$/, ['release', 'forget']],
];

export class RootWatch {
  readonly #report: Report;
  /** Heard by the root, and not yet by the leases. */
  readonly #passing = new Set<string>();
  /** Where it was when it looked at what it remembers; null: it did not yet. */
  #leftFor: string | null = null;
  /** The root was heard before: what it passes on is known. */
  #isHeard = false;

  constructor(report: Report) {
    this.#report = report;
  }

  root(from: string, to: string, { seen }: NodeContext, event: Heard): void {
    const { type, requestId } = event;
    this.#isHeard = true;
    if (requestId !== undefined && PASSED_ON.some(([state, types]) => state.test(from) && types.includes(type)))
      this.#passing.add(`${type} ${requestId}`);
    if (type === 'stop' && !from.startsWith('running') && to !== 'stopped')
      this.#report('alive', `the node was told to stop while ${from}, and is ${to}`);
    if (from === to) return;
    if (type.startsWith('xstate.after.patience') && this.#leftFor !== null)
      this.#report('9', `the node gives up ${from}, and has looked at what it remembers before`);
    if (from === 'remembering') this.#remembered(to, event);
    if (to === 'remembering') this.#leftFor = from;
    if (from === 'running.degraded.quieting' && to.startsWith('recovering') && seen === null)
      this.#report('9', 'the node has to look at the cloud twice');
    if (seen !== null && !/^(recovering|running\.degraded)/.test(to))
      this.#report('7', `the node is ${to} and keeps what it has seen before`);
  }

  #remembered(to: string, { type, output }: Heard): void {
    if (type === 'stop') return;
    const known = (output?.value as Remembered | null | undefined) ?? null;
    const [before = ''] = (this.#leftFor ?? '').split('.');
    const right = known !== null ? to.startsWith('running.degraded') : to.startsWith(before);
    if (!right)
      this.#report(
        'alive',
        `the node remembers ${known === null ? 'nothing' : 'its ENIs'}, and goes from ${before} to ${to}`,
      );
  }

  /** The leases hear it. */
  leases({ type, requestId }: Heard): void {
    if (requestId === undefined) return;
    const call = `${type} ${requestId}`;
    if (!this.#passing.delete(call) && this.#isHeard && (type === 'allocate' || type === 'release'))
      this.#report('4', `the leases hear ${call}, which the node was not to pass on`);
  }

  /** After each step. */
  check(): void {
    for (const call of this.#passing) this.#report('4', `the node passes ${call} on to nobody`);
    this.#passing.clear();
  }
}
