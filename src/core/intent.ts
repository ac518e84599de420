/**
 * What an ENI actor is about to have the cloud do: written, synced, before the call leaves, and deleted once the truth is known.
 *
 * One at a time for an ENI: that of an ENI is kept under the ENI's id, so the next one takes its place; a Create has no ENI yet and is
 * kept under its ClientToken. An Unassign that was not answered may be carried out for as long as its addresses are there: it is kept
 * beside the others, so that what is begun meanwhile does not make its addresses free for the next life. A record holds all that is needed to make the same call again, with the same token.
 */
import type { CloudEni } from './eni.ts';
import type { Failure } from './errors.ts';

export const INTENT_VERSION = 1;

type Common = {
  readonly version: typeof INTENT_VERSION;
  /** The key of the record. */
  readonly id: string;
  /** Of the ENI actor, in the life that wrote the record. */
  readonly slot: number;
  /** When the call was about to leave. */
  readonly atMs: number;
};

export type CreateIntent = Common & {
  readonly kind: 'create';
  readonly eniId: null;
  readonly vSwitchId: string;
  readonly securityGroupIds: readonly string[];
  readonly ipv4Count: number;
  readonly ipv6Count: number;
  readonly tags: Readonly<Record<string, string>>;
  readonly description: string;
  readonly clientToken: string;
};

export type Intent =
  | CreateIntent
  | (Common & { readonly kind: 'attach' | 'detach'; readonly eniId: string; readonly instanceId: string })
  | (Common & { readonly kind: 'delete'; readonly eniId: string })
  | (Common & {
      readonly kind: 'assign';
      readonly eniId: string;
      readonly ipv4Count: number;
      /** In dual stack, in a call of its own: one of the two counts is 0 then. */
      readonly ipv6Count?: number;
      readonly clientToken: string;
    })
  /** All of one family: there is no call for both. */
  | (Common & { readonly kind: 'unassign'; readonly eniId: string; readonly ips: readonly string[] });

/** The key of an Unassign. */
export const takingId = (eniId: string): string => `${eniId}/unassign`;

export type TakingIntent = Extract<Intent, { kind: 'unassign' }>;

export type EniIntent = Exclude<Intent, CreateIntent>;

/** null when the value is no intent of a version we know. */
export function parseIntent(value: unknown): Intent | null {
  const intent = value as Partial<Intent> | null;
  if (intent === null || typeof intent !== 'object' || intent.version !== INTENT_VERSION) return null;
  if (typeof intent.id !== 'string' || intent.id === '' || typeof intent.atMs !== 'number') return null;
  if (intent.kind === 'create')
    return typeof intent.clientToken === 'string' && typeof intent.vSwitchId === 'string' ? (intent as Intent) : null;
  if (typeof intent.eniId !== 'string') return null;
  switch (intent.kind) {
    case 'attach':
    case 'detach':
    case 'delete':
    case 'assign':
      return intent as Intent;
    case 'unassign':
      return Array.isArray(intent.ips) ? (intent as Intent) : null;
    default:
      return null;
  }
}

/**
 * Whether what Describe tells of the ENI (null: it is unknown) leaves no question about the call. A detached ENI leaves one: it was
 * detached to be deleted.
 */
export function isSettled({ kind }: EniIntent, eni: Pick<CloudEni, 'status'> | null): boolean {
  if (eni === null) return true;
  switch (kind) {
    case 'attach':
      return eni.status === 'InUse';
    case 'assign':
    case 'unassign':
      return true;
    case 'detach':
    case 'delete':
      return false;
  }
}

/** Some of these addresses, of either family, are on the ENI. */
export function hasAny(eni: Pick<CloudEni, 'ipv4' | 'ipv6'> | null, ips: readonly string[]): boolean {
  return eni !== null && [...eni.ipv4, ...eni.ipv6].some((ip) => ips.includes(ip));
}

/** Failures after which nothing can have been carried out: the answer says so, or no call was made. */
const NOT_CARRIED_OUT: readonly Failure['code'][] = [
  'permission',
  'credentials',
  'clockSkew',
  'misconfigured',
  'groupFull',
  'vSwitchEmpty',
  'ipv6Off',
  'throttled',
  'store',
  'invalidArgument',
];

export function mayHaveHappened({ code }: Pick<Failure, 'code'>): boolean {
  return !NOT_CARRIED_OUT.includes(code);
}
