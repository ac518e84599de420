/**
 * What was refused is not asked for again before its hold-down is over: a vSwitch that ran dry, an instance that has all it may have, and an
 * opening that failed. Kept apart from the factory's own holds, from what the ENIs heard.
 */
import type { EniContext } from '../../statecharts/eni-context.ts';
import type { EniFactoryContext } from '../../statecharts/eni-factory-context.ts';
import type { Settings } from '../core/settings.ts';
import type { Report } from './violation.ts';

type Heard = { readonly type: string };

export class HoldWatch {
  readonly #settings: Settings;
  readonly #report: Report;
  /** vSwitch, or `instance` -> since when and until when it is not asked. */
  readonly #holds = new Map<string, { readonly code: string; readonly sinceMs: number; readonly untilMs: number }>();

  constructor(settings: Settings, report: Report) {
    this.#settings = settings;
    this.#report = report;
  }

  /** `before` is undefined for an actor that begins. */
  eni(before: EniContext | undefined, path: string, now: EniContext, { type }: Heard, nowMs: number): void {
    const { vSwitchId, lastFailure, origin, slot, phase } = now;
    const opens = before === undefined && origin === 'new';
    if (opens) this.#asks(['instance', vSwitchId], `eni:${slot} is opened in ${vSwitchId}`, nowMs);
    if (type === 'grow' && before !== undefined && now.growBy > before.growBy)
      this.#asks([vSwitchId], `eni:${slot} in ${vSwitchId} is to grow`, nowMs);
    if (before !== undefined && before.phase === 'opening' && phase === 'ready') {
      const hold = this.#holds.get('instance');
      if (hold?.code !== 'eniQuota') this.#holds.delete('instance');
    }
    // It was called off, whatever it was told before.
    if (path === 'gone' && type === 'drain') return;
    // What became of a Create is known when it is given up.
    const isOver = path === 'gone' || (!path.startsWith('creating') && phase !== 'faulty');
    if (lastFailure === null || !isOver || (before?.lastFailure === lastFailure && path !== 'gone')) return;
    const { holdDownMs, quotaHoldMs, backoffMs } = this.#settings;
    const { code } = lastFailure;
    if (code === 'vSwitchEmpty' && (path === 'gone' || path.startsWith('inUse')))
      this.#hold(vSwitchId, code, nowMs, holdDownMs);
    if (code === 'eniQuota' && (path === 'gone' || path.startsWith('attaching')))
      this.#hold('instance', code, nowMs, quotaHoldMs);
    if (path === 'gone' && before?.phase === 'opening' && !['vSwitchEmpty', 'eniQuota'].includes(code))
      this.#hold('instance', code, nowMs, backoffMs);
  }

  /** A vSwitch that has some addresses is empty no more. */
  looked({ vSwitches }: EniFactoryContext): void {
    for (const { vSwitchId, free } of vSwitches) if ((free ?? 0) > 0) this.#holds.delete(vSwitchId);
  }

  #hold(what: string, code: string, sinceMs: number, forMs: number): void {
    const known = this.#holds.get(what);
    if (known === undefined || known.untilMs < sinceMs + forMs)
      this.#holds.set(what, { code, sinceMs, untilMs: sinceMs + forMs });
  }

  #asks(of: readonly string[], what: string, nowMs: number): void {
    for (const one of of) {
      const hold = this.#holds.get(one);
      if (hold !== undefined && hold.sinceMs < nowMs && nowMs < hold.untilMs)
        this.#report('9', `${what}, ${nowMs - hold.sinceMs} ms after ${one} had failed with ${hold.code}`);
    }
  }
}
