/** Follows one object by its name. */
import { z } from 'zod';
import type { ApiClient } from './api-client.ts';
import { ObjectWatch, type WatchPace } from './object-watch.ts';

const listSchema = z.object({
  metadata: z.object({ resourceVersion: z.string() }),
  items: z.array(z.unknown()).nullish(),
});

/** `onObject` hears of each version that there is, and null while there is none. Run it with `run`. */
export function singleWatch<T>(
  client: ApiClient,
  { what, path, name, read }: { what: string; path: string; name: string; read: (json: unknown) => T },
  onObject: (object: T | null) => void | Promise<void>,
  pace: WatchPace,
) {
  const fieldSelector = `metadata.name=${name}`;
  const list = async (signal: AbortSignal) => {
    const { metadata, items } = listSchema.parse(
      await client.json({ method: 'GET', path, query: { fieldSelector } }, signal),
    );
    return { version: metadata.resourceVersion, items: (items ?? []).map(read) };
  };
  return new ObjectWatch(
    client,
    { what, path, fieldSelector, list, read },
    (event) => {
      if (event.type === 'synced') return onObject(event.items[0] ?? null);
      return onObject(event.type === 'gone' ? null : event.item);
    },
    pace,
  );
}
