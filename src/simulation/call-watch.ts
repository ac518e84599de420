/**
 * Looks at each call of one life before it leaves: invariants 2, 5, 6 and 9, and that nothing is asked for twice.
 *
 * An Assign or a Create whose answer was lost may have been carried out: it is asked again with its own ClientToken, until that is
 * answered, or what the cloud has is looked at, before a call with another token asks for the like. A token that was answered is not used
 * again: the cloud would give what it gave then, which may be gone.
 */
import type { Intent } from '../core/intent.ts';
import { mutates } from '../vpc/model.ts';
import type { ApiName, Input } from '../vpc/requests.ts';
import type { CallOutcome } from './fake-cloud.ts';
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

const SLOW: ReadonlySet<ApiName> = new Set([
  'AttachNetworkInterface',
  'DetachNetworkInterface',
  'DeleteNetworkInterface',
]);

export type CallWatchOptions = {
  readonly node: number;
  readonly instanceId: string;
  readonly cloud: VirtualCloud;
  readonly witness: Witness;
  readonly report: Report;
  /** How often a change may be looked after. */
  readonly periodMs: number;
  /** An actor of this life was made to die: what it had under way goes on beside what its successor does. */
  readonly defective: () => boolean;
};

export class CallWatch {
  readonly mutates = mutates;
  readonly #options: CallWatchOptions;
  /** ClientTokens of calls whose answer was lost, by what they are for. */
  readonly #lost = new Map<string, string>();
  /** ClientTokens that were answered. */
  readonly #spent = new Set<string>();
  /** Looks that left after a loss. */
  readonly #looks = new WeakMap<object, readonly string[]>();
  /** Calls with a token that have not been answered. */
  readonly #asked = new Set<object>();
  /** Mutating calls under way, by ENI. */
  readonly #flying = new Map<string, string>();
  /** Calls that begin what takes a while: when they ended, until the ENI is looked at. */
  readonly #begun = new Map<string, { readonly api: ApiName; readonly atMs: number }>();

  constructor(options: CallWatchOptions) {
    this.#options = options;
  }

  sending(api: ApiName, input: Input<ApiName>, clientToken: string | null): void {
    if (api === 'DescribeNetworkInterfaces' && this.#lost.size > 0) this.#looks.set(input, [...this.#lost.keys()]);
    if (!mutates(api)) {
      this.#looking(input);
      return;
    }
    this.#checkToken(api, input, clientToken);
    if (clientToken !== null) this.#asked.add(input);
    const { node, instanceId, cloud, witness, report } = this.#options;
    const { enis } = cloud.model.truth(cloud.clock.nowMs());
    witness.sending({ node, instanceId, nowMs: cloud.clock.nowMs() }, api, input, enis);
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

  settled(api: ApiName, input: Input<ApiName>, clientToken: string | null, outcome: CallOutcome): void {
    if ('eniId' in input) {
      this.#flying.delete(input.eniId);
      if (SLOW.has(api)) this.#begun.set(input.eniId, { api, atMs: this.#options.cloud.clock.nowMs() });
    }
    if (outcome === 'done')
      for (const aim of this.#looks.get(input) ?? []) if (sees(input, aim)) this.#lost.delete(aim);
    const aim = aimOf(api, input, clientToken);
    // One of an actor that has died since tells nobody anything.
    if (aim === null || clientToken === null || !this.#asked.delete(input)) return;
    if (outcome === 'done') this.#spent.add(clientToken);
    if (outcome === 'lost') this.#lost.set(aim, clientToken);
    else if (outcome === 'done' && this.#lost.get(aim) === clientToken) this.#lost.delete(aim);
  }

  /** The node is whole again after an actor was made to die: what that one had under way is nobody's any more. */
  mended(): void {
    for (const known of [this.#flying, this.#lost, this.#begun, this.#spent, this.#asked]) known.clear();
  }

  /** What takes the cloud seconds is not asked after at once. */
  #looking(input: Input<ApiName>): void {
    const { cloud, node, periodMs, witness, report, defective } = this.#options;
    const { eniIds = [] } = input as { readonly eniIds?: readonly string[] };
    // A comparison asks for one, and takes the node's others along (shared-looks.ts).
    for (const eniId of eniIds.slice(0, 1)) {
      const begun = this.#begun.get(eniId);
      if (begun === undefined) continue;
      this.#begun.delete(eniId);
      witness.checks += 1;
      const passedMs = cloud.clock.nowMs() - begun.atMs;
      if (passedMs < periodMs && !defective())
        report('9', `node ${node + 1} asks after ${eniId} ${passedMs} ms after its ${begun.api} has ended`);
    }
  }

  #checkToken(api: ApiName, input: Input<ApiName>, clientToken: string | null): void {
    if (clientToken !== null) {
      this.#options.witness.checks += 1;
      if (this.#spent.has(clientToken) && !this.#options.defective())
        this.#options.report('token', `${api} has the token ${clientToken}, which was answered`);
    }
    const aim = aimOf(api, input, clientToken);
    const lost = aim === null ? undefined : this.#lost.get(aim);
    if (lost === undefined) return;
    this.#options.witness.checks += 1;
    if (clientToken !== lost && !this.#options.defective())
      this.#options.report(
        'token',
        `${api} for ${aim} asks anew (${clientToken}), though the answer to ${lost} was lost`,
      );
  }
}

/** Calls of one aim ask for the like: on one ENI, or for one ENI that is to be made. */
function aimOf(api: ApiName, input: Input<ApiName>, clientToken: string | null): string | null {
  if (clientToken === null) return null;
  if ('eniId' in input) return `${input.eniId} ${api}`;
  // The last part of a token counts the calls that one actor has begun.
  return clientToken.replace(/-\d+$/, '');
}

/** Whether an answer of Describe tells of an aim: by the ENI's id, or by the tag that a Create leaves. */
function sees(input: Input<ApiName>, aim: string): boolean {
  const { eniIds = [], tags = [] } = input as Partial<Input<'DescribeNetworkInterfaces'>>;
  return (
    eniIds.some((id) => aim.startsWith(`${id} `)) || tags.some(({ value }) => value?.startsWith(`${aim}-`) === true)
  );
}
