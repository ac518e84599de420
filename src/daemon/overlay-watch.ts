/**
 * Follows the node and the ConfigMap that its label names, which holds the node's overlay over the configuration.
 *
 * Source: Terway, node label `terway-config`, key `eni_conf` of a ConfigMap in the daemon's own namespace.
 */
import type { Kubernetes, Node } from '../ports/kubernetes.ts';
import type { Log } from '../ports/log.ts';

const LABEL = 'terway-config';
const KEY = 'eni_conf';

/** `configMap`: its name; null when the node has no label. `text`: null when there is no such ConfigMap, or it has no overlay. */
export type Overlay = { readonly configMap: string | null; readonly text: string | null };

export type OverlayWatch = {
  readonly kubernetes: Pick<Kubernetes, 'watchNode' | 'watchConfigMap'>;
  readonly nodeName: string;
  readonly namespace: string;
  readonly log: Log;
  /** Hears of the overlay first when it is known, and then whenever it is otherwise. */
  readonly onOverlay: (overlay: Overlay) => void;
  readonly onNode: (node: Node) => void;
};

/** Resolves when `end` fires; rejects only when no API server can be asked at all. */
export async function watchOverlay(
  { kubernetes, nodeName, namespace, log, onOverlay, onNode }: OverlayWatch,
  end: AbortSignal,
): Promise<void> {
  let named: string | null | undefined;
  let told = '';
  let following = new AbortController();
  const tell = (overlay: Overlay): void => {
    const text = JSON.stringify(overlay);
    if (text === told) return;
    told = text;
    onOverlay(overlay);
  };
  const trouble = (why: string | null): void => {
    if (why !== null) log.debug({ why }, 'the API server does not tell of the overlay');
  };
  const follow = (name: string): void => {
    const mine = new AbortController();
    following = mine;
    const both = AbortSignal.any([end, mine.signal]);
    const take = (data: Readonly<Record<string, string>> | null): void => {
      if (!mine.signal.aborted) tell({ configMap: name, text: data?.[KEY] ?? null });
    };
    void kubernetes.watchConfigMap(namespace, name, take, both, trouble).catch(() => {});
  };
  await kubernetes.watchNode(
    nodeName,
    (node) => {
      // One that is not registered yet has no label; one that was taken away still has what it had.
      if (node === null) {
        if (named === undefined) tell({ configMap: null, text: null });
        return;
      }
      onNode(node);
      const name = node.labels[LABEL] || null;
      if (name === named) return;
      named = name;
      following.abort();
      if (name === null) tell({ configMap: null, text: null });
      else follow(name);
    },
    end,
    trouble,
  );
}
