/**
 * The configuration, parsed into a frozen value. Keys are Terway's where Terway has them, durations are Go's.
 *
 * All that is wrong is told at once, each with its key.
 */

import { z } from 'zod';
import { isCloudApi } from './api-rates.ts';
import { type KeyName, keyNames } from './config-keys.ts';
import { layerOf } from './config-layers.ts';
import { type ConfigIssue, ConfigRefused } from './config-refusal.ts';
import { DAEMON_MODES, type DaemonMode, settingsIn, WITHOUT_ENIS } from './daemon-mode.ts';
import { duration, period } from './duration-key.ts';
import { familyOf, parseCidr } from './ip.ts';
import { keeperKeys, keeperSettingsOf } from './keeper-settings.ts';
import { kubeKeys, kubeSettingsOf } from './kube-settings.ts';
import { LOG_LEVELS, type LogLevel } from './log-level.ts';
import type { Keys } from './merge-patch.ts';
import { METADATA_CIDR } from './metadata-address.ts';
import { placementSettingsOf, poolKeys } from './pool-keys.ts';
import { defaultSettings, type Settings } from './settings.ts';
import { ignoredKeys, refusalOf, unsupportedKeys } from './terway-keys.ts';
import { isUnsaid, unsaid } from './unsaid.ts';
import type { IPSet } from './wire.ts';

/** Source: Terway refuses more than ten; the cloud allows five per ENI, more by request. */
const SECURITY_GROUPS_MAX = 10;
/** Source: CreateNetworkInterface, Tag.N at most 20; four of them are ours. */
const TAGS_MAX = 16;

/** Which credentials to take. Nothing of it named: whatever the node has (src/adapters/credentials/sources.ts tells the order). */
export type CredentialSettings = {
  readonly keyPair: { readonly accessKeyId: string; readonly accessKeySecret: string } | null;
  /** The encrypted token file; null: only looked for where add-ons have it. */
  readonly tokenFile: string | null;
  /** The instance's RAM role; null: whichever it has. */
  readonly ramRole: string | null;
  /** The only source that is asked; null: the first that is configured. */
  readonly source: CredentialSourceName | null;
};

/** Values of `credential_source`. */
const credentialSources = {
  addon_files: 'addonFiles',
  config: 'config',
  token_file: 'tokenFile',
  oidc_role: 'oidcRole',
  addon_token_file: 'addonTokenFile',
  ram_role: 'ramRole',
} as const;
type CredentialSourceKey = keyof typeof credentialSources;
export type CredentialSourceName = (typeof credentialSources)[CredentialSourceKey];

export type Config = {
  readonly settings: Settings;
  readonly credentials: CredentialSettings;
  /** Calls per minute by API, over the built-in ones. */
  readonly rateLimits: Readonly<Record<string, number>>;
  /** How long a minute lasts: `speed` divides it too. */
  readonly minuteMs: number;
  /** null when the file does not tell. */
  readonly serviceCidr: IPSet | null;
  /** Kinds of links that may be an ENI's device: `device` is a physical or virtio one, the lab plugs in veths. */
  readonly eniLinkKinds: readonly ('device' | 'veth' | 'dummy')[];
  /** Whether what comes in by the primary interface is answered by it. */
  readonly replyPaths: boolean;
  /** Whether pods are kept from the metadata service. */
  readonly blockPodMetadata: boolean;
  readonly daemonMode: DaemonMode;
  /** Pods on shared ENIs get an ipvlan slave of theirs. */
  readonly ipvlan: boolean;
  /** Prefixes that pods on the network itself reach through the host. */
  readonly hostStackCidrs: readonly string[];
  /** Mode VPC: the prefixes in which addresses of pods are routed as they are. */
  readonly podRange: readonly string[];
  readonly logLevel: LogLevel;
  /** Whether the debug socket takes commands. */
  readonly debugCommands: boolean;
  /** What was read otherwise than it was written. */
  readonly notes: readonly ConfigIssue[];
};

/** Terway writes them in any case. `datapathv2` is veth with Cilium behind it. */
const VIRTUAL_TYPES: readonly string[] = ['veth', 'ipvlan'];

const count = z.int().min(0).max(100_000);
const id = z.string().min(1);

/** Each is one more question that every packet is asked. */
const PREFIXES_MAX = 16;

function isPrefix(text: string): boolean {
  try {
    parseCidr(text);
    return true;
  } catch {
    return false;
  }
}

const cidrs = z
  .string()
  .refine((text) => serviceCidrOf(text) !== null, 'is not one IPv4 prefix, or an IPv4 and an IPv6 one');

const schema = z.strictObject({
  ...poolKeys,
  ...keeperKeys,
  ...kubeKeys,
  access_key: unsaid(z.string()),
  access_secret: unsaid(z.string()),
  credential_path: unsaid(z.string()),
  credential_source: unsaid(z.enum(Object.keys(credentialSources) as [CredentialSourceKey, ...CredentialSourceKey[]])),
  ram_role: unsaid(z.string()),
  cluster_id: z.string().max(128).default(defaultSettings.clusterId),
  vswitches: unsaid(z.record(z.string(), z.array(id))),
  security_group: unsaid(z.string()),
  security_groups: unsaid(z.array(id)),
  eni_tags: unsaid(
    z
      .record(z.string().min(1).max(128), z.string().max(128))
      .refine((tags) => Object.keys(tags).length <= TAGS_MAX, `has more than ${TAGS_MAX} tags`),
  ),
  ip_stack: unsaid(z.enum(['ipv4', 'dual'])),
  min_pool_size: unsaid(count),
  max_pool_size: unsaid(count),
  max_eni: unsaid(count),
  mtu: z.int().min(576).max(9_000).default(defaultSettings.mtu),
  cool_down: duration.optional(),
  pool_period: period.optional(),
  ip_pool_sync_period: unsaid(period),
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
  read_only: z.boolean().default(defaultSettings.readOnly),
  pool_pauses_when_cordoned: z.boolean().default(defaultSettings.pausesWhenCordoned),
  waiting_max: z.int().min(1).max(100_000).default(defaultSettings.waitingMax),
  debug_commands: z.boolean().default(true),
  inputs_max: z.int().min(0).max(100_000).default(defaultSettings.inputsMax),
  eni_link_kinds: z
    .array(z.enum(['device', 'veth', 'dummy']))
    .min(1)
    .default(['device']),
  reply_paths: z.boolean().default(true),
  block_pod_metadata: z.boolean().default(false),
  eniip_virtual_type: unsaid(
    z
      .string()
      .refine(
        (text) => VIRTUAL_TYPES.includes(text.toLowerCase()),
        'is neither Veth nor IPVlan, and others are not supported',
      ),
  ),
  host_stack_cidrs: unsaid(
    z.array(z.string().refine(isPrefix, 'is no prefix, as in 169.254.20.10/32')).max(PREFIXES_MAX),
  ),
  daemon_mode: z.enum(DAEMON_MODES).default('ENIMultiIP'),
  pod_range: unsaid(z.array(z.string().refine(isPrefix, 'is no prefix, as in 10.0.0.0/8')).max(PREFIXES_MAX)),
  speed: z.number().positive().max(1_000_000).default(1),
  rate_limit: unsaid(z.record(z.string(), z.int().min(1))),
  service_cidr: unsaid(cidrs),
  log_level: z.enum(LOG_LEVELS).default('info'),
} satisfies Record<KeyName, z.ZodType>);

/** Node-local DNS listens there. Source: Terway's host_stack_cidrs. */
const defaultHostStackCidrs: readonly string[] = ['169.254.20.10/32'];

type File = z.infer<typeof schema>;

/** A rule over several keys that does not hold. */
type Refuse = (key: string, why: string) => void;

/** Throws ConfigRefused. */
export function parseConfig(text: string, nodeName: string): Config {
  return configOf(layerOf('file', text).keys, nodeName);
}

/** Throws ConfigRefused with all that is wrong. */
export function configOf(all: Keys, nodeName: string): Config {
  const { known, notes, issues } = sorted(all);
  const first = schema.safeParse(known);
  if (!first.success) issues.push(...first.error.issues.flatMap(issuesOf));
  // Once more without what is wrong, since rules over several keys may be broken too.
  const told = issues.map(({ key }) => key);
  // A key may hold dots itself.
  const isBad = (key: string) => told.some((one) => one === key || one.startsWith(`${key}.`));
  const sound = Object.fromEntries(Object.entries(known).filter(([key]) => !isBad(key)));
  const file = first.success ? first.data : schema.parse(sound);
  const config = configFrom(file, nodeName, notes, (key, why) => {
    if (!isBad(key)) issues.push({ key, why });
  });
  if (issues.length > 0) throw new ConfigRefused(issues);
  return deepFrozen(config);
}

function issuesOf(issue: z.core.$ZodIssue): ConfigIssue[] {
  if (issue.code !== 'unrecognized_keys') return [{ key: issue.path.join('.'), why: issue.message }];
  return issue.keys.map((key) => ({ key: [...issue.path, key].join('.'), why: `no such key${meant(key)}` }));
}

/** A key that differs by a letter or two was probably meant. */
function meant(key: string): string {
  // Cheaper than the distance, and a key of others may be long: lengths that differ by more are no slip of the pen.
  const near = keyNames.find((name) => Math.abs(name.length - key.length) <= 2 && distance(name, key) <= 2);
  return near === undefined ? '' : `; is ${near} meant?`;
}

/** Edits between two names. Source: Levenshtein. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (const [i, one] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries())
      next.push(Math.min((row[j] ?? 0) + (one === other ? 0 : 1), (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Those of the filter too: what we make has to be ours to use after a restart. */
function eniTagsOf(
  { eni_tags: own = {}, eni_tag_filter: filter = {}, eni_tag_block_list: blocked = [] }: File,
  refuse: Refuse,
) {
  const tags = { ...filter, ...own };
  const lost = Object.keys(filter).find((key) => tags[key] !== filter[key]);
  if (lost !== undefined) refuse('eni_tag_filter', `asks for another ${lost} than eni_tags sets`);
  if (blocked.some(({ key, value }) => tags[key] === value))
    refuse('eni_tag_block_list', 'blocks the ENIs that eni_tags marks as ours');
  if (Object.keys(tags).length > TAGS_MAX) refuse('eni_tags', `has more than ${TAGS_MAX} tags`);
  return tags;
}

/** The two halves of the key pair have to be both there, and the only source that may be asked has to be set. */
function credentialsOf(file: File, refuse: Refuse): CredentialSettings {
  const { access_key: accessKeyId = '', access_secret: accessKeySecret = '' } = file;
  if (accessKeyId === '' && accessKeySecret !== '') refuse('access_key', 'is missing, access_secret is set');
  if (accessKeyId !== '' && accessKeySecret === '') refuse('access_secret', 'is missing, access_key is set');
  const source = file.credential_source === undefined ? null : credentialSources[file.credential_source];
  const keyPair = accessKeyId === '' ? null : { accessKeyId, accessKeySecret };
  const tokenFile = file.credential_path || null;
  const missing = 'is missing, credential_source asks for it';
  if (source === 'config' && keyPair === null) refuse('access_key', missing);
  if (source === 'tokenFile' && tokenFile === null) refuse('credential_path', missing);
  return { keyPair, tokenFile, ramRole: file.ram_role || null, source };
}

function configFrom(file: File, nodeName: string, notes: readonly ConfigIssue[], refuse: Refuse): Config {
  const more = [...notes];
  const note = (key: KeyName, why: string): void => void more.push({ key, why });
  if (file.daemon_mode === 'VPC')
    for (const key of WITHOUT_ENIS)
      if (!isUnsaid(file[key]) && file[key] !== false) note(key, 'is not used: daemon_mode is VPC');
  const scaled = (ms: number | undefined, otherwise: number): number => {
    const whole = ms ?? otherwise;
    return whole === 0 ? 0 : Math.max(1, Math.round(whole / file.speed));
  };
  const { min_pool_size: minIdle = defaultSettings.minIdle, max_pool_size: maxIdle = defaultSettings.maxIdle } = file;
  // As Terway does: the high mark wins.
  if (minIdle > maxIdle) note('min_pool_size', `lowered from ${minIdle} to max_pool_size, ${maxIdle}`);
  const { security_group: group = '', security_groups: others = [] } = file;
  const groups = [...new Set([group, ...others].filter((one) => one !== ''))].sort();
  if (groups.length > SECURITY_GROUPS_MAX)
    refuse('security_groups', `names ${groups.length} groups; the limit is ${SECURITY_GROUPS_MAX}`);
  const lists = Object.entries(file.vswitches ?? {}).map(([zone, ids]) => [zone, [...new Set(ids)]] as const);
  if (file.min_eni !== undefined && file.min_eni > 0 && maxIdle === 0)
    note('min_eni', 'keeps nothing, since max_pool_size is 0');
  if (file.ip_warm_up_size !== undefined && file.ip_warm_up_size > 0 && maxIdle === 0)
    note('ip_warm_up_size', 'warms nothing up, since max_pool_size is 0');
  if ((file.idle_ip_reclaim_after ?? null) === null && file.idle_ip_reclaim_interval !== undefined)
    note('idle_ip_reclaim_interval', 'reclaims nothing, since idle_ip_reclaim_after is not set');
  for (const api of Object.keys(file.rate_limit ?? {}))
    if (!isCloudApi(api)) note('rate_limit', `${api} is no API that is called here`);
  const settings: Settings = {
    ...placementSettingsOf(file, scaled),
    ...keeperSettingsOf(file, scaled),
    ...kubeSettingsOf(file, scaled),
    nodeName,
    clusterId: file.cluster_id,
    ipStack: file.ip_stack === 'dual' ? 'dual' : 'ipv4',
    minIdle: Math.min(minIdle, maxIdle),
    maxIdle,
    maxEnis: file.max_eni || null,
    vSwitchIds: lists.length === 0 ? null : Object.fromEntries(lists),
    securityGroupIds: groups.length === 0 ? null : groups,
    eniTags: eniTagsOf(file, refuse),
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
    readOnly: file.read_only,
    pausesWhenCordoned: file.pool_pauses_when_cordoned,
    waitingMax: file.waiting_max,
    inputsMax: file.inputs_max,
  };
  if (settings.backoffMaxMs < settings.backoffMs) refuse('backoff_max', 'is shorter than backoff');
  const podRange = file.pod_range ?? [];
  if (file.daemon_mode === 'VPC' && podRange.length === 0)
    refuse('pod_range', 'is missing: daemon_mode VPC needs to know where addresses of pods are routed');
  const ipvlan = file.eniip_virtual_type?.toLowerCase() === 'ipvlan';
  if (ipvlan && file.daemon_mode !== 'ENIMultiIP')
    note('eniip_virtual_type', `has no effect in daemon_mode ${file.daemon_mode}`);
  if (ipvlan && file.daemon_mode === 'ENIMultiIP' && file.service_cidr === undefined)
    refuse('service_cidr', 'is missing: pods with ipvlan reach services through the host');
  return {
    settings: settingsIn(file.daemon_mode, settings),
    credentials: credentialsOf(file, refuse),
    rateLimits: file.rate_limit ?? {},
    minuteMs: 60_000 / file.speed,
    serviceCidr: file.service_cidr === undefined ? null : serviceCidrOf(file.service_cidr),
    eniLinkKinds: file.eni_link_kinds,
    debugCommands: file.debug_commands,
    replyPaths: file.reply_paths,
    blockPodMetadata: file.block_pod_metadata,
    ipvlan,
    hostStackCidrs: hostStackCidrsOf(file.host_stack_cidrs ?? defaultHostStackCidrs, file.block_pod_metadata),
    daemonMode: file.daemon_mode,
    podRange,
    logLevel: file.log_level,
    notes: more,
  };
}

/** Takes out what is Terway's and not ours. */
function sorted(all: Keys): { known: Record<string, unknown>; notes: ConfigIssue[]; issues: ConfigIssue[] } {
  const known: Record<string, unknown> = {};
  const notes: ConfigIssue[] = [];
  const issues: ConfigIssue[] = [];
  for (const [key, value] of Object.entries(all)) {
    const why = refusalOf(key, value);
    if (why !== null) issues.push({ key, why });
    else if (ignoredKeys.includes(key)) notes.push({ key, why: 'has no effect here' });
    else if (!Object.hasOwn(unsupportedKeys, key)) known[key] = value;
  }
  return { known, notes, issues };
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

function deepFrozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFrozen(inner);
  }
  return value;
}

/** Pods with a device on the VPC itself reach the metadata service through the host, where they are told no. */
function hostStackCidrsOf(said: readonly string[], blockMetadata: boolean): readonly string[] {
  return blockMetadata && !said.includes(METADATA_CIDR) ? [...said, METADATA_CIDR] : said;
}
