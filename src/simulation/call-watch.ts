/** Looks at each call of one life before it leaves: invariants 2, 5, 6 and 9. */
import type { Intent } from '../core/intent.ts';
import { mutates } from '../vpc/model.ts';
import type { ApiName, Input } from '../vpc/requests.ts';
import type { Report } from './violation.ts';
import type { VirtualCloud } from './virtual-cloud.ts';
import type { Witness } from './witness.ts';

const KINDS: Readonly<Partial<Record<ApiName, Intent['kind']>>> = {
  CreateNetworkInterface: 'create',
  AttachNetworkInterface: 'attach',
  DetachNetworkInterface: 'detach',
  DeleteNetworkInterface: 'delete',
  AssignPrivateIpAddresses: 'assign',
  UnassignPrivateIpAddresses: 'unassign',
  AssignIpv6Addresses: 'assign',
  UnassignIpv6Addresses: 'unassign',
};

export type CallWatchOptions = {
  readonly node: number;
  readonly instanceId: string;
  readonly cloud: VirtualCloud;
  readonly witness: Witness;
  readonly report: Report;
  /** An actor of this life was made to die: what it had under way goes on beside what its successor does. */
  readonly defective: () => boolean;
};

export class CallWatch {
  readonly mutates = mutates;
  readonly #options: CallWatchOptions;
  /** Mutating calls under way, by ENI. */
  readonly #flying = new Map<string, string>();

  constructor(options: CallWatchOptions) {
    this.#options = options;
  }

  sending(api: ApiName, input: Input<ApiName>): void {
    if (!mutates(api)) return;
    const { node, instanceId, cloud, witness, report } = this.#options;
    const { enis } = cloud.model.truth(cloud.clock.nowMs());
    witness.sending(node, instanceId, api, input, enis);
    if (!('eniId' in input)) return;
    witness.checks += 1;
    const other = this.#flying.get(input.eniId);
    if (other !== undefined && !this.#options.defective())
      report('9', `${api} on ${input.eniId} of node ${node + 1} while its ${other} is under way`);
    this.#flying.set(input.eniId, api);
  }

  /** No call that creates or destroys leaves before its intent is on the disk. */
  intended(api: ApiName, input: Input<ApiName>, synced: ReadonlyMap<string, string>): void {
    const { node, witness, report } = this.#options;
    const kind = KINDS[api];
    if (kind === undefined) return;
    witness.checks += 1;
    const eniId = 'eniId' in input ? input.eniId : null;
    const intents = [...synced.values()].map((text) => JSON.parse(text) as Intent);
    if (!intents.some((intent) => intent.kind === kind && intent.eniId === eniId))
      report('6', `${api} of node ${node + 1} on ${eniId ?? 'a new ENI'} leaves without an intent on the disk`);
  }

  settled(input: Input<ApiName>): void {
    if ('eniId' in input) this.#flying.delete(input.eniId);
  }
}
