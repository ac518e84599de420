/** Lists of the debug socket, a page at a time: those after a key, in the order of the keys, so many at most. */

/** Items one page carries at most. */
export const PAGE_MAX = 1_000;

export type Page<T> = {
  readonly items: readonly T[];
  /** What to ask for next, as `after`; null after the last page. */
  readonly next: string | null;
  readonly total: number;
};

/** null for what cannot be asked. */
export function pageOf<T>(all: readonly T[], keyOf: (item: T) => string, params: URLSearchParams): Page<T> | null {
  const limit = Number(params.get('limit') ?? PAGE_MAX);
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > PAGE_MAX) return null;
  const after = params.get('after') ?? '';
  const keyed = all.map((item) => ({ key: keyOf(item), item })).sort((a, b) => (a.key < b.key ? -1 : 1));
  const rest = keyed.filter(({ key }) => key > after);
  const shown = rest.slice(0, limit);
  const next = rest.length > shown.length ? (shown.at(-1)?.key ?? null) : null;
  return { items: shown.map(({ item }) => item), next, total: all.length };
}
