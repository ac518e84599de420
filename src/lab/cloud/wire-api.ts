/** One API on the wire: how its parameters become a value, and its answer a body. */
import type { ApiName, Input, Output } from '../../vpc/requests.ts';
import type { WireParams } from './wire-params.ts';

export type Body = Readonly<Record<string, unknown>>;
export type Account = { readonly regionId: string; readonly ownerId: string };

export type WireApi<A extends ApiName> = {
  readonly version: '2014-05-26' | '2016-04-28';
  /** Whether the API knows ClientToken; others ignore it. */
  readonly idempotent: boolean;
  /** Throws CloudError. */
  readonly parse: (params: WireParams) => Input<A>;
  /** Without RequestId. */
  readonly render: (output: Output<A>, account: Account, input: Input<A>) => Body;
};

export const ECS_VERSION = '2014-05-26';
export const VPC_VERSION = '2016-04-28';

/** `2026-11-29T15:34:22Z`, as the APIs write instants. */
export function isoSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

/** The same, with a fraction where there is one: lives that a test has shortened do not end at whole seconds. */
export function isoInstant(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z');
}

export function tagSet(tags: Readonly<Record<string, string>>): Body {
  return { Tag: Object.entries(tags).map(([TagKey, TagValue]) => ({ TagKey, TagValue })) };
}
