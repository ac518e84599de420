/** Follows the pods of one node. */
import type { PodWatchEvent } from '../../ports/kubernetes.ts';
import type { ApiClient } from './api-client.ts';
import { podOf } from './kube-values.ts';
import { listPods } from './list-pods.ts';
import { ObjectWatch, type WatchPace } from './object-watch.ts';

/** Run it with `run`. */
export function podWatch(
  client: ApiClient,
  nodeName: string,
  onEvent: (event: PodWatchEvent) => void | Promise<void>,
  pace: WatchPace,
) {
  const watched = {
    what: 'pods',
    path: '/api/v1/pods',
    fieldSelector: `spec.nodeName=${nodeName}`,
    list: async (signal: AbortSignal) => {
      const { version, pods } = await listPods(client, nodeName, signal);
      return { version, items: pods };
    },
    read: podOf,
  };
  return new ObjectWatch(
    client,
    watched,
    (event) =>
      onEvent(event.type === 'synced' ? { type: 'synced', pods: event.items } : { type: event.type, pod: event.item }),
    pace,
  );
}
