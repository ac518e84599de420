/**
 * Port Kubernetes before its client is there: each call waits for it. The actors start while the client library is loaded, which takes
 * longer than all the rest of the start.
 */
import type { Kubernetes } from '../ports/kubernetes.ts';

/** Calls reject as `connecting` does, should it. */
export function kubernetesLater(connecting: Promise<Kubernetes>): Kubernetes {
  connecting.catch(() => {}); // whoever calls hears of it
  return {
    getPod: async (...args) => (await connecting).getPod(...args),
    listNodePods: async (...args) => (await connecting).listNodePods(...args),
    watchNodePods: async (...args) => (await connecting).watchNodePods(...args),
    getNode: async (...args) => (await connecting).getNode(...args),
    countNodes: async (...args) => (await connecting).countNodes(...args),
    unready: async (...args) => (await connecting).unready(...args),
    watchNode: async (...args) => (await connecting).watchNode(...args),
    watchConfigMap: async (...args) => (await connecting).watchConfigMap(...args),
    recordEvent: async (...args) => (await connecting).recordEvent(...args),
  };
}
