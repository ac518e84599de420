/** Looks at each call of one life before it leaves: invariants 2, 5 and 9. */
import { mutates } from '../vpc/model.ts';
import type { ApiName, Input } from '../vpc/requests.ts';
import type { Report } from './violation.ts';
import type { VirtualCloud } from './virtual-cloud.ts';
import type { Witness } from './witness.ts';

export type CallWatchOptions = {
  readonly node: number;
  readonly instanceId: string;
  readonly cloud: VirtualCloud;
  readonly witness: Witness;
  readonly report: Report;
};

export class CallWatch {
  readonly mutates = mutates;
  readonly #options: CallWatchOptions;
  /** Mutating calls under way, by ENI. */
  readonly #flying = new Map<string, string>();
  #creating = 0;

  /** ENIs that a call is changing now. */
  get changing(): Iterable<string> {
    return this.#flying.keys();
  }

  get creating(): boolean {
    return this.#creating > 0;
  }

  constructor(options: CallWatchOptions) {
    this.#options = options;
  }

  sending(api: ApiName, input: Input<ApiName>): void {
    if (!mutates(api)) return;
    const { node, instanceId, cloud, witness, report } = this.#options;
    const { enis } = cloud.model.truth(cloud.clock.nowMs());
    witness.sending(node, instanceId, api, input, enis);
    if (api === 'CreateNetworkInterface') this.#creating += 1;
    if (!('eniId' in input)) return;
    witness.checks += 1;
    const other = this.#flying.get(input.eniId);
    if (other !== undefined)
      report('9', `${api} on ${input.eniId} of node ${node + 1} while its ${other} is under way`);
    this.#flying.set(input.eniId, api);
  }

  settled(api: ApiName, input: Input<ApiName>): void {
    if (api === 'CreateNetworkInterface') this.#creating -= 1;
    if ('eniId' in input) this.#flying.delete(input.eniId);
  }
}
