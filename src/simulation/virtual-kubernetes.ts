/**
 * Port Kubernetes of one life of a daemon: the one API server of the world (FakeKubernetes), each call on its way for a while.
 *
 * A list may be short, as that of an API server whose cache is not filled or whose store lags; a direct question is answered with the
 * truth of the moment, or fails, unless the API server is behind altogether: then it knows of no pod.
 */
import { EnactorError } from '../core/errors.ts';
import type { Kubernetes } from '../ports/kubernetes.ts';
import type { FakeKubernetes } from './fake-kubernetes.ts';
import type { Life } from './life.ts';

export function virtualKubernetes(options: {
  readonly server: FakeKubernetes;
  readonly life: Life;
  readonly delayMs: () => number;
  /** Asked once for each call: why it fails, or null. */
  readonly failing: () => string | null;
  /** Whether a list leaves pods out; asked once for each. */
  readonly leavesOut: () => boolean;
  /** Whether it is so far behind that it knows of no pod. */
  readonly isBehind: () => boolean;
  /** What stands before each call; nothing if not told. */
  readonly guarded?: <T>(call: () => Promise<T>) => Promise<T>;
}): Kubernetes {
  const { server, life, delayMs, failing, leavesOut, isBehind, guarded = (call) => call() } = options;
  const answered = <T>(what: string, signal: AbortSignal, read: () => Promise<T>): Promise<T> =>
    life.promise((resolve, reject) => {
      const abort = (): void => reject(Object.assign(new Error(`${what} was aborted`), { name: 'AbortError' }));
      if (signal.aborted) return abort();
      signal.addEventListener('abort', abort, { once: true });
      life.after(delayMs(), () => {
        signal.removeEventListener('abort', abort);
        const failure = failing();
        if (failure !== null) reject(new EnactorError('kubernetes', `${what}: ${failure}`));
        else void guarded(read).then(resolve, reject);
      });
    });
  return {
    getPod: (namespace, name, signal) =>
      answered(`GET pod ${namespace}/${name}`, signal, async () =>
        isBehind() ? null : await server.getPod(namespace, name, signal),
      ),
    listNodePods: (nodeName, signal) =>
      answered(`list pods of ${nodeName}`, signal, async () => {
        const pods = await server.listNodePods(nodeName, signal);
        return leavesOut() ? pods.filter((_, index) => index % 3 === 0) : pods;
      }),
    watchNodePods: (nodeName, onEvent, signal) => server.watchNodePods(nodeName, onEvent, signal),
    getNode: (name, signal) => answered(`GET node ${name}`, signal, () => server.getNode(name, signal)),
    countNodes: (signal) => answered('count nodes', signal, () => server.countNodes(signal)),
    unready: (kind, namespace, name, signal) =>
      answered(`GET ${kind} ${namespace}/${name}`, signal, () => server.unready(kind, namespace, name, signal)),
    watchNode: (name, onNode, signal) => server.watchNode(name, onNode, signal),
    watchConfigMap: (namespace, name, onData, signal) => server.watchConfigMap(namespace, name, onData, signal),
    recordEvent: (event, signal) => answered('POST event', signal, () => server.recordEvent(event, signal)),
  };
}
