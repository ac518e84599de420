/**
 * Which routing table an ENI's default route lives in.
 *
 * 1000 + ifindex by custom (Terway's too), but ifindexes come back after a reboot while other people's tables do not ask us:
 * a table is taken only when it holds nothing but routes over this very device. Rules that point to an empty table are leftovers of
 * an ENI that is gone and would send another pod's packets here, so such a table is passed over, unless we are told it is ours.
 */
import { type Route, TABLE_MAIN } from '../netlink/route.ts';
import type { Rule } from '../netlink/rule.ts';

export const ROUTE_TABLE_BASE = 1000;

/** How many tables after the first choice are looked at. */
const CANDIDATES = 4096;

export type TableQuestion = {
  readonly linkIndex: number;
  /** The table this ENI had before, or null. */
  readonly previous: number | null;
  readonly routes: readonly Pick<Route, 'table' | 'linkIndex'>[];
  readonly rules: readonly Pick<Rule, 'table'>[];
  /** Tables promised to other ENIs that may have no route yet. */
  readonly promised: ReadonlySet<number>;
};

/** null when all candidates are taken. */
export function pickRouteTable(question: TableQuestion): number | null {
  const { linkIndex, previous, promised } = question;
  const holders = new Map<number, Set<number | null>>();
  for (const route of question.routes) {
    const devices = holders.get(route.table) ?? new Set();
    holders.set(route.table, devices.add(route.linkIndex));
  }
  const named = new Set(question.rules.map(({ table }) => table));
  const onlyOurs = (table: number): boolean => [...(holders.get(table) ?? [])].every((device) => device === linkIndex);
  if (previous !== null && previous !== TABLE_MAIN && !promised.has(previous) && onlyOurs(previous)) return previous;
  for (let offset = 0; offset < CANDIDATES; offset += 1) {
    const table = ROUTE_TABLE_BASE + linkIndex + offset;
    if (promised.has(table) || !onlyOurs(table)) continue;
    if (holders.has(table) || !named.has(table)) return table;
  }
  return null;
}
