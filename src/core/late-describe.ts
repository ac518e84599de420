/**
 * What answers of the cloud said of addresses a moment ago, against a Describe that may be late about it. Pure.
 *
 * An address that an Unassign took is still shown for a while, one that an Assign gave is not shown yet: who followed Describe at once
 * would promise the first to a pod, and take the second from one.
 * Source: Terway polls Describe after Unassign until the addresses are gone; how late it may be is an estimate, two seconds.
 */
import type { Ips } from './pairs.ts';

/** Of either family. */
export type Said = { readonly ip: string; readonly there: boolean; readonly untilMs: number };

/** As the store has it, under the ENI's id: a restart must not fall for what Describe shows late. */
export type AnswerRecord = { readonly version: typeof ANSWER_VERSION; readonly said: readonly Said[] };

export const ANSWER_VERSION = 1;

/** Nothing for a record that cannot be read: Describe is believed then, as it is where no answer was heard. */
export function parseAnswers(value: unknown): readonly Said[] {
  const record = value as Partial<AnswerRecord> | null;
  if (typeof record !== 'object' || record?.version !== ANSWER_VERSION || !Array.isArray(record.said)) return [];
  return record.said.filter(
    (one: Partial<Said> | null): one is Said =>
      typeof one?.ip === 'string' && typeof one.there === 'boolean' && typeof one.untilMs === 'number',
  );
}

/** How many periods of Describe an answer counts more than it. */
export const LATE_PERIODS = 5;

/** With what an answer said just now; what is old is forgotten. */
export function said(
  before: readonly Said[],
  ips: readonly string[],
  there: boolean,
  { nowMs, lateMs }: { readonly nowMs: number; readonly lateMs: number },
): readonly Said[] {
  const kept = before.filter((one) => one.untilMs > nowMs && !ips.includes(one.ip));
  return [...kept, ...ips.map((ip) => ({ ip, there, untilMs: nowMs + lateMs }))];
}

/** The addresses that are there for all that is known: `shown`, in its order, as far as no answer has said otherwise. */
export function corrected<T extends Ips>(shown: T, known: readonly Said[], nowMs: number): T {
  const fresh = known.filter((one) => one.untilMs > nowMs);
  if (fresh.length === 0) return shown;
  const gone = fresh.filter((one) => !one.there).map((one) => one.ip);
  const there = fresh.filter((one) => one.there).map((one) => one.ip);
  const of = (ips: readonly string[], family: 4 | 6): readonly string[] => [
    ...ips.filter((ip) => !gone.includes(ip)),
    ...there.filter((ip) => ip.includes(':') === (family === 6) && !ips.includes(ip)),
  ];
  return { ...shown, ipv4: of(shown.ipv4, 4), ipv6: of(shown.ipv6, 6) };
}
