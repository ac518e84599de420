/** Port Predecessor over Terway's database file. Its daemon is not there: we hold its lock (exclusive.ts). Source: cases/field P14, P15. */
import { readTerwayDatabase } from '../adapters/bolt/terway-database.ts';
import { failureOf } from '../core/errors.ts';
import type { Kubernetes } from '../ports/kubernetes.ts';
import type { Log } from '../ports/log.ts';
import type { Predecessor } from '../ports/predecessor.ts';

export type TerwayPredecessorParts = {
  readonly path: string;
  readonly kubernetes: Pick<Kubernetes, 'listNodePods'>;
  readonly nodeName: string;
  readonly log: Log;
  /** How long the API server may take: pods are served meanwhile by nobody. */
  readonly askMs?: number;
};

const ASK_MS = 5_000;

export function terwayPredecessor(parts: TerwayPredecessorParts): Predecessor {
  const { path, kubernetes, nodeName, log, askMs = ASK_MS } = parts;
  return {
    async inheritance(signal) {
      const read = readTerwayDatabase(path);
      if (read === null) return null;
      for (const why of read.unreadable) log.error({ path, why }, 'a record of Terway’s daemon cannot be read');
      const asked = kubernetes.listNodePods(nodeName, AbortSignal.any([signal, AbortSignal.timeout(askMs)]));
      const pods = await asked.catch((thrown: unknown) => {
        signal.throwIfAborted();
        log.warn(
          { failure: failureOf(thrown) },
          'the API server does not tell which pods Terway left: its word is done without',
        );
        return null;
      });
      return { records: read.records, pods };
    },
  };
}
