/** A record as bytes: JSON text, so that a person with any LevelDB tool can read it. */
import { EnactorError } from '../../core/errors.ts';
import type { StoreOp } from '../../ports/store.ts';

export type EncodedOp = StoreOp & { readonly value: string };

/** Throws EnactorError `store` for what JSON cannot hold, naming the record. */
export function encoded(op: StoreOp): EncodedOp {
  if (op.key === '') throw new EnactorError('store', `a record in ${op.in} has no key`);
  if (op.type === 'del') return { ...op, value: '' };
  const value = JSON.stringify(op.value);
  if (value === undefined) throw new EnactorError('store', `${op.in}/${op.key} has a value that is no JSON`);
  return { ...op, value };
}

/** What does not parse is handed on as it is: whoever owns the record decides what its loss means. */
export function decoded(key: string, text: string): { key: string; value: unknown; unreadable?: string } {
  try {
    return { key, value: JSON.parse(text) };
  } catch {
    return { key, value: null, unreadable: text };
  }
}
