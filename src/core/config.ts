/**
 * The configuration file, parsed once into a frozen value. Keys are Terway's where Terway has them, durations are Go's.
 *
 * Every refusal names the key and never the value, since a value may be a secret; for the same reason the parser's own message,
 * which quotes the text, is not handed on.
 */
import { z } from 'zod';
import { duration, period } from './duration-key.ts';
import { EnactorError } from './errors.ts';
import { familyOf, parseCidr } from './ip.ts';
import { keeperKeys, keeperSettingsOf } from './keeper-settings.ts';
import { placementSettingsOf, poolKeys } from './pool-keys.ts';
import { defaultSettings, type Settings } from './settings.ts';
import { ignoredKeys, refusalOf, unsupportedKeys } from './terway-keys.ts';
import type { IPSet } from './wire.ts';

/** Source: Terway refuses more than ten; the cloud allows five per ENI, more by request. */
const SECURITY_GROUPS_MAX = 10;
/** Source: CreateNetworkInterface, Tag.N at most 20; four of them are ours. */
const TAGS_MAX = 16;

export type Credentials = { readonly accessKeyId: string; readonly accessKeySecret: string };

export type Config = {
  readonly settings: Settings;
  readonly credentials: Credentials;
  /** Calls per minute by API, over the built-in ones. */
  readonly rateLimits: Readonly<Record<string, number>>;
  /** null when the file does not tell. */
  readonly serviceCidr: IPSet | null;
  /** Kinds of links that may be an ENI's device: `device` is a physical or virtio one, the lab plugs in veths. */
  readonly eniLinkKinds: readonly ('device' | 'veth')[];
  /** What was read otherwise than it was written, for the log. */
  readonly notes: readonly string[];
};

const count = z.int().min(0).max(100_000);
const id = z.string().min(1);

const cidrs = z
  .string()
  .refine((text) => serviceCidrOf(text) !== null, 'is not one IPv4 prefix, or an IPv4 and an IPv6 one');

const schema = z.strictObject({
  ...poolKeys,
  ...keeperKeys,
  access_key: z.string().default(''),
  access_secret: z.string().default(''),
  cluster_id: z.string().max(128).default(defaultSettings.clusterId),
  vswitches: z.record(z.string(), z.array(id)).default({}),
  security_group: z.string().default(''),
  security_groups: z.array(id).default([]),
  eni_tags: z
    .record(z.string().min(1).max(128), z.string().max(128))
    .refine((tags) => Object.keys(tags).length <= TAGS_MAX, `has more than ${TAGS_MAX} tags`)
    .default({}),
  ip_stack: z.enum(['', 'ipv4', 'dual']).nullable().default('ipv4'),
  min_pool_size: count.default(defaultSettings.minIdle),
  max_pool_size: count.default(defaultSettings.maxIdle),
  max_eni: count.default(0),
  mtu: z.int().min(576).max(9_000).default(defaultSettings.mtu),
  cool_down: duration.optional(),
  pool_period: period.optional(),
  ip_pool_sync_period: period.optional(),
  cloud_period: period.optional(),
  describe_period: period.optional(),
  attach_timeout: period.optional(),
  settle_timeout: period.optional(),
  detach_timeout: period.optional(),
  call_timeout: period.optional(),
  backoff: period.optional(),
  backoff_max: period.optional(),
  hold_down: duration.optional(),
  custom_stateful_workload_kinds: z.array(id).nullish(),
  ip_reservation: duration.optional(),
  ip_reservation_yields: z.boolean().default(defaultSettings.reservationsYield),
  gc_period: period.optional(),
  gc_grace: duration.optional(),
  gc_timeout: period.optional(),
  waiting_max: z.int().min(1).max(100_000).default(defaultSettings.waitingMax),
  inputs_max: z.int().min(0).max(100_000).default(defaultSettings.inputsMax),
  eni_link_kinds: z
    .array(z.enum(['device', 'veth']))
    .min(1)
    .default(['device']),
  speed: z.number().positive().max(1_000_000).default(1),
  rate_limit: z.record(z.string(), z.int().min(1)).default({}),
  service_cidr: cidrs.optional(),
});

type File = z.infer<typeof schema>;

/** Throws EnactorError `invalidArgument` naming the key. */
export function parseConfig(text: string, nodeName: string): Config {
  const { known, notes } = sorted(jsonObject(text));
  const result = schema.safeParse(known);
  if (!result.success) {
    const [issue] = result.error.issues;
    if (issue?.code === 'unrecognized_keys') throw refused(issue.keys.join(', '), 'no such key');
    throw refused(issue?.path.join('.') ?? '', issue?.message ?? 'is not valid');
  }
  return deepFrozen(configOf(result.data, nodeName, notes));
}

/** Those of the filter too: what we make has to be ours to use after a restart. Throws EnactorError when it could not be. */
function eniTagsOf({ eni_tags: own, eni_tag_filter: filter = {}, eni_tag_block_list: blocked = [] }: File) {
  const tags = { ...filter, ...own };
  const lost = Object.keys(filter).find((key) => tags[key] !== filter[key]);
  if (lost !== undefined) throw refused('eni_tag_filter', `asks for another ${lost} than eni_tags sets`);
  if (blocked.some(({ key, value }) => tags[key] === value))
    throw refused('eni_tag_block_list', 'blocks the ENIs that eni_tags marks as ours');
  if (Object.keys(tags).length > TAGS_MAX) throw refused('eni_tags', `has more than ${TAGS_MAX} tags`);
  return tags;
}

/** Throws EnactorError when the two halves of the key pair are not both there. */
function credentialsOf(file: File): Credentials {
  const { access_key: accessKeyId, access_secret: accessKeySecret } = file;
  if (accessKeyId === '' && accessKeySecret !== '') throw refused('access_key', 'is missing, access_secret is set');
  if (accessKeyId !== '' && accessKeySecret === '') throw refused('access_secret', 'is missing, access_key is set');
  if (accessKeyId === '') throw refused('access_key', 'is missing; other credentials are not supported yet');
  return { accessKeyId, accessKeySecret };
}

function configOf(file: File, nodeName: string, notes: readonly string[]): Config {
  const more = [...notes];
  const scaled = (ms: number | undefined, otherwise: number): number => {
    const whole = ms ?? otherwise;
    return whole === 0 ? 0 : Math.max(1, Math.round(whole / file.speed));
  };
  const { min_pool_size: minIdle, max_pool_size: maxIdle } = file;
  // As Terway does: the high mark wins.
  if (minIdle > maxIdle) more.push(`min_pool_size: lowered from ${minIdle} to max_pool_size, ${maxIdle}`);
  const groups = [...new Set([file.security_group, ...file.security_groups].filter((group) => group !== ''))].sort();
  if (groups.length > SECURITY_GROUPS_MAX)
    throw refused('security_groups', `names ${groups.length} groups; the limit is ${SECURITY_GROUPS_MAX}`);
  const lists = Object.entries(file.vswitches).map(([zone, ids]) => [zone, [...new Set(ids)]] as const);
  if (file.min_eni !== undefined && file.min_eni > 0 && maxIdle === 0)
    more.push('min_eni: keeps nothing, since max_pool_size is 0');
  if (file.ip_warm_up_size !== undefined && file.ip_warm_up_size > 0 && maxIdle === 0)
    more.push('ip_warm_up_size: warms nothing up, since max_pool_size is 0');
  const settings: Settings = {
    ...placementSettingsOf(file, scaled),
    ...keeperSettingsOf(file, scaled),
    nodeName,
    clusterId: file.cluster_id,
    ipStack: file.ip_stack === 'dual' ? 'dual' : 'ipv4',
    minIdle: Math.min(minIdle, maxIdle),
    maxIdle,
    maxEnis: file.max_eni === 0 ? null : file.max_eni,
    vSwitchIds: lists.length === 0 ? null : Object.fromEntries(lists),
    securityGroupIds: groups.length === 0 ? null : groups,
    eniTags: eniTagsOf(file),
    mtu: file.mtu,
    coolDownMs: scaled(file.cool_down, defaultSettings.coolDownMs),
    poolPeriodMs: scaled(file.pool_period ?? file.ip_pool_sync_period, defaultSettings.poolPeriodMs),
    cloudPeriodMs: scaled(file.cloud_period, defaultSettings.cloudPeriodMs),
    describePeriodMs: scaled(file.describe_period, defaultSettings.describePeriodMs),
    attachTimeoutMs: scaled(file.attach_timeout, defaultSettings.attachTimeoutMs),
    settleTimeoutMs: scaled(file.settle_timeout, defaultSettings.settleTimeoutMs),
    detachTimeoutMs: scaled(file.detach_timeout, defaultSettings.detachTimeoutMs),
    callTimeoutMs: scaled(file.call_timeout, defaultSettings.callTimeoutMs),
    backoffMs: scaled(file.backoff, defaultSettings.backoffMs),
    backoffMaxMs: scaled(file.backoff_max, defaultSettings.backoffMaxMs),
    holdDownMs: scaled(file.hold_down, defaultSettings.holdDownMs),
    reserveMs: scaled(file.ip_reservation, defaultSettings.reserveMs),
    statefulKinds: (file.custom_stateful_workload_kinds ?? []).map((kind) => kind.toLowerCase()),
    reservationsYield: file.ip_reservation_yields,
    gcPeriodMs: scaled(file.gc_period, defaultSettings.gcPeriodMs),
    gcGraceMs: scaled(file.gc_grace ?? file.gc_period, defaultSettings.gcGraceMs),
    gcTimeoutMs: scaled(file.gc_timeout, defaultSettings.gcTimeoutMs),
    waitingMax: file.waiting_max,
    inputsMax: file.inputs_max,
  };
  if (settings.backoffMaxMs < settings.backoffMs) throw refused('backoff_max', 'is shorter than backoff');
  return {
    settings,
    credentials: credentialsOf(file),
    rateLimits: file.rate_limit,
    serviceCidr: file.service_cidr === undefined ? null : serviceCidrOf(file.service_cidr),
    eniLinkKinds: file.eni_link_kinds,
    notes: more,
  };
}

function jsonObject(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    const [, position] = /position (\d+)/.exec((thrown as Error).message) ?? [];
    throw refused('', `is not JSON${position === undefined ? '' : ` (at character ${position})`}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused('', 'is not a JSON object');
  return value as Record<string, unknown>;
}

/** Takes out what is Terway's and not ours. */
function sorted(all: Record<string, unknown>): { known: Record<string, unknown>; notes: string[] } {
  const known: Record<string, unknown> = {};
  const notes: string[] = [];
  for (const [key, value] of Object.entries(all)) {
    const refusal = refusalOf(key, value);
    if (refusal !== null) throw refused(key, refusal);
    if (ignoredKeys.includes(key)) notes.push(`${key}: has no effect here`);
    else if (!Object.hasOwn(unsupportedKeys, key)) known[key] = value;
  }
  return { known, notes };
}

function serviceCidrOf(text: string): IPSet | null {
  try {
    const [first = '', second, ...rest] = text.split(',').map((part) => part.trim());
    if (rest.length > 0 || parseCidr(first).family !== 4) return null;
    if (second === undefined) return { IPv4: first };
    return familyOf(second) === 6 && parseCidr(second).family === 6 ? { IPv4: first, IPv6: second } : null;
  } catch {
    return null;
  }
}

function refused(key: string, why: string): EnactorError {
  return new EnactorError('invalidArgument', `config${key === '' ? '' : `: ${key}:`} ${why}`);
}

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFrozen(inner);
  }
  return value;
}
