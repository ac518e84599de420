/**
 * The two ways of reading a list in pages: NextToken with MaxResults, and the older PageNumber with PageSize.
 *
 * A token names the last item read, not a position, so nothing is skipped when items go away between two pages.
 */
import { cloudError } from './errors.ts';

export type PageRequest =
  | { readonly kind: 'token'; readonly nextToken: string | null; readonly maxResults: number | null }
  | { readonly kind: 'number'; readonly pageNumber: number; readonly pageSize: number };

export type Page<T> = {
  readonly items: readonly T[];
  /** Empty: this was the last page, or pages are read by number. */
  readonly nextToken: string;
  readonly pageNumber: number;
  readonly pageSize: number;
  readonly totalCount: number;
};

export type PageBounds = { readonly min: number; readonly default: number; readonly max: number };

/** `items` in an order that never changes, `orderOf` rising along it. */
export function pageOf<T>(
  items: readonly T[],
  orderOf: (item: T) => number,
  request: PageRequest,
  bounds: PageBounds,
): Page<T> {
  if (request.kind === 'number') {
    const start = (request.pageNumber - 1) * request.pageSize;
    return {
      items: items.slice(start, start + request.pageSize),
      nextToken: '',
      pageNumber: request.pageNumber,
      pageSize: request.pageSize,
      totalCount: items.length,
    };
  }
  const size = Math.min(bounds.max, Math.max(Math.min(bounds.min, bounds.max), request.maxResults ?? bounds.default));
  const after = request.nextToken === null ? Number.NEGATIVE_INFINITY : orderIn(request.nextToken);
  const rest = items.filter((item) => orderOf(item) > after);
  const page = rest.slice(0, size);
  const last = page.at(-1);
  const nextToken = rest.length > page.length && last !== undefined ? tokenOf(orderOf(last)) : '';
  return { items: page, nextToken, pageNumber: 0, pageSize: 0, totalCount: items.length };
}

const TOKEN = /^lab([0-9a-z]+)next$/;

function tokenOf(order: number): string {
  return `lab${order.toString(36)}next`;
}

function orderIn(token: string): number {
  const digits = TOKEN.exec(token)?.[1];
  if (digits === undefined) throw cloudError('InvalidParameter', 'NextToken');
  return Number.parseInt(digits, 36);
}
