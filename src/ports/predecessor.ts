/** Whoever gave this node's pods their addresses before us. What he has written down is one witness beside cloud, kernel and API server. Reads only. */
import type { TerwayRecord } from '../core/terway-record.ts';
import type { Pod } from './kubernetes.ts';

export type Inheritance = {
  readonly records: readonly TerwayRecord[];
  /** This node's, as the API server knows them now; null when it did not tell. */
  readonly pods: readonly Pod[] | null;
};

export interface Predecessor {
  /** null when there was none. Rejects with EnactorError `store` that names the file: it cannot be read, or somebody writes it. */
  inheritance(signal: AbortSignal): Promise<Inheritance | null>;
}
