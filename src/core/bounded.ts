/**
 * A value as people may see it: JSON of a bounded size, with nothing in it that is named like a secret.
 *
 * Contexts of charts hold no secret by design; this is the second lock. What is left out says so in its place, so that nobody takes a
 * part for the whole.
 */
export type Bounds = {
  /** Nested objects and lists; what is deeper is `…`. */
  readonly depth: number;
  /** Entries of one object or list. */
  readonly items: number;
  /** Of one text. */
  readonly chars: number;
};

export const usualBounds: Bounds = { depth: 6, items: 64, chars: 512 };

const SECRET = /secret|password|authorization|access_?key|security_?token|private_?key/i;
/** Of these a report tells where they come from and until when: in an object what is secret has a name of its own. */
const CREDENTIALS = /credential/i;
const HIDDEN = '******';
const DEEPER = '…';

/** Maps become `{$map: entries}` and sets `{$set: items}`; functions, and whatever else JSON has no word for, their kind in brackets. */
export function bounded(value: unknown, bounds: Bounds = usualBounds): unknown {
  return boundedAt(value, bounds, bounds.depth);
}

function boundedAt(value: unknown, bounds: Bounds, depth: number): unknown {
  if (typeof value === 'string') return cutText(value, bounds.chars);
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === null || typeof value === 'boolean' || value === undefined) return value;
  if (typeof value !== 'object') return typeof value === 'bigint' ? String(value) : `[${typeof value}]`;
  if (value instanceof Error) return cutText(`${value.name}: ${value.message}`, bounds.chars);
  if (depth === 0) return DEEPER;
  if (Array.isArray(value)) return listOf(value, bounds, depth);
  if (value instanceof Map) return { $map: listOf([...value], bounds, depth) };
  if (value instanceof Set) return { $set: listOf([...value], bounds, depth) };
  // A reference to an actor would draw the whole system in.
  if ('sessionId' in value && 'id' in value) return `[actor ${String(value.id)}]`;
  return objectOf(value, bounds, depth);
}

function listOf(items: readonly unknown[], bounds: Bounds, depth: number): unknown[] {
  const shown = items.slice(0, bounds.items).map((item) => boundedAt(item, bounds, depth - 1));
  return items.length > bounds.items ? [...shown, `… ${items.length - bounds.items} more`] : shown;
}

function objectOf(value: object, bounds: Bounds, depth: number): Record<string, unknown> {
  const entries = Object.entries(value);
  const shown = entries.slice(0, bounds.items).map(([key, item]): [string, unknown] => {
    return [key, isHidden(key, item) ? HIDDEN : boundedAt(item, bounds, depth - 1)];
  });
  const more = entries.length - shown.length;
  return Object.fromEntries(more > 0 ? [...shown, ['…', `${more} more`]] : shown);
}

function isHidden(key: string, item: unknown): boolean {
  return SECRET.test(key) || (CREDENTIALS.test(key) && (typeof item !== 'object' || Array.isArray(item)));
}

function cutText(text: string, chars: number): string {
  return text.length <= chars ? text : `${text.slice(0, chars)}…`;
}
