/**
 * What was made by something that is gone goes too, as the garbage collector has it for a deletion in the background.
 * Limits: `--cascade=orphan` is not offered (deletion.ts refuses it), and in the foreground is in the background.
 */
import type { ApiServer } from '../apiserver/api-server.ts';
import { RESOURCES } from '../apiserver/resource.ts';
import { owns } from './ownership.ts';

/** Until the returned function is called. */
export function collectOwned({ store, lifecycle }: Pick<ApiServer, 'store' | 'lifecycle'>): () => void {
  return store.subscribe(({ type, object }) => {
    if (type !== 'DELETED') return;
    const options = { gracePeriodSeconds: null, resourceVersion: null };
    for (const resource of RESOURCES)
      for (const one of store.list(resource, null))
        if (owns(object, one)) lifecycle.delete(resource, one, { ...options, uid: one.metadata.uid });
  });
}
