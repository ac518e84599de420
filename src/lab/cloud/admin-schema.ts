/** The bodies that the admin interface takes, field by field; the page `admin.md` beside this file explains them. */
import { z } from 'zod';
import type { Fault } from '../../vpc/faults.ts';
import type { Change } from '../../vpc/out-of-band.ts';
import { type Delays, defaultSettings, PROFILES, type Settings } from '../../vpc/settings.ts';
import { isApiName } from './apis.ts';
import { ASSUME_ROLE_WITH_OIDC } from './sts.ts';
import { instanceStatusSchema } from './topology-file.ts';

const id = z.string().min(1);
const ms = z.number().min(0);
const count = z.int().min(0);
const tags = z.record(z.string(), z.string());

const api = z
  .string()
  .refine(
    (name) => isApiName(name) || ['Metadata', ASSUME_ROLE_WITH_OIDC, '*'].includes(name),
    'is no API of this cloud, nor Metadata or *',
  );

const planted = {
  api,
  times: z.int().min(1).default(1),
  params: z.record(z.string(), z.string()).default({}),
};

export const faultSchema: z.ZodType<Fault> = z.discriminatedUnion('effect', [
  z.strictObject({
    ...planted,
    effect: z.literal('fail'),
    code: id,
    status: z.int().min(400).max(599).nullable().default(null),
    message: z.string().nullable().default(null),
  }),
  z.strictObject({ ...planted, effect: z.literal('delay'), ms }),
  z.strictObject({ ...planted, effect: z.literal('drop'), how: z.enum(['close', 'cut', 'hang']).default('close') }),
  z.strictObject({ ...planted, effect: z.literal('hold') }),
  z.strictObject({
    ...planted,
    effect: z.literal('reply'),
    status: z.int().min(200).max(599).default(200),
    contentType: z.string().default('application/json;charset=utf-8'),
    body: z.string(),
    carriedOut: z.boolean().default(true),
  }),
  z.strictObject({
    ...planted,
    effect: z.literal('transition'),
    lastsMs: ms.nullable().default(null),
    fails: z.boolean().default(false),
  }),
]);

const ips = z.array(z.string()).min(1);
const eniStatus = z.enum(['Creating', 'Available', 'Attaching', 'InUse', 'Detaching', 'Deleting', 'CreateFailed']);

const assign = z
  .strictObject({
    change: z.literal('assign'),
    eniId: id,
    family: z.union([z.literal(4), z.literal(6)]).default(4),
    ips: ips.optional(),
    count: z.int().min(1).optional(),
  })
  .transform(({ ips: wanted, count: number, ...rest }) => ({
    ...rest,
    want: wanted === undefined ? { count: number ?? 1 } : { ips: wanted },
  }));

export const changeSchema: z.ZodType<Change> = z.discriminatedUnion('change', [
  assign,
  z.strictObject({ change: z.literal('unassign'), eniId: id, ips }),
  z.strictObject({
    change: z.literal('createEni'),
    vSwitchId: id,
    securityGroupIds: z.array(id).min(1),
    instanceId: id.nullable().default(null),
    secondaries: count.default(0),
    ipv6: count.default(0),
    tags: tags.default({}),
    serviceManaged: z.boolean().default(false),
  }),
  z.strictObject({ change: z.literal('attachEni'), eniId: id, instanceId: id }),
  z.strictObject({ change: z.literal('detachEni'), eniId: id }),
  z.strictObject({ change: z.literal('deleteEni'), eniId: id }),
  z.strictObject({
    change: z.literal('setEniStatus'),
    eniId: id,
    status: eniStatus,
    forMs: ms.nullable().default(null),
  }),
  z.strictObject({ change: z.literal('withhold'), vSwitchId: id, addresses: count }),
  z.strictObject({ change: z.literal('setSecurityGroups'), eniId: id, securityGroupIds: z.array(id).min(1) }),
  z.strictObject({ change: z.literal('resizeInstance'), instanceId: id, instanceType: id }),
  z.strictObject({ change: z.literal('setInstanceStatus'), instanceId: id, status: instanceStatusSchema }),
  z.strictObject({ change: z.literal('releaseInstance'), instanceId: id }),
  z.strictObject({ change: z.literal('forgetMetadataTokens'), instanceId: id }),
]);

const delayNames = Object.keys(PROFILES.fast) as (keyof Delays)[];

const settingsSchema = z.strictObject({
  /** Applied before `delays`. */
  profile: z.enum(['realistic', 'fast']).optional(),
  delays: z.strictObject(Object.fromEntries(delayNames.map((name) => [name, ms.optional()]))).optional(),
  speed: z.number().positive().optional(),
  jitter: z.number().min(0).max(1).optional(),
  throttlePerMinute: z.record(z.string().refine(isApiName, 'is no API of this cloud'), count).optional(),
  throttlePerSecond: z
    .record(
      z.string().refine((name) => isApiName(name) || name === '*', 'is no API of this cloud'),
      z.number().positive(),
    )
    .optional(),
  conflicts: z.boolean().optional(),
  detachAvailable: z.enum(['refuse', 'accept']).optional(),
  tagFilters: z.enum(['all', 'any']).optional(),
  shortAssigns: z.boolean().optional(),
  unknownEni: z.enum(['error', 'empty']).optional(),
  pageMax: z.int().min(1).optional(),
  enisInRegion: count.optional(),
  secondaryIpv4Unattached: count.optional(),
  ipv6Unattached: count.optional(),
  securityGroupsPerEni: z.int().min(1).optional(),
  addressesInNormalGroup: count.optional(),
  addressesInEnterpriseGroup: count.optional(),
  clockAheadMs: z.number().optional(),
  metadataTokenMaxSeconds: z.int().min(1).optional(),
});

/** The settings with what the body names changed. Throws ZodError. */
export function changedSettings(settings: Settings, body: unknown): Settings {
  const { profile, delays, ...rest } = settingsSchema.parse(body);
  const base = profile === undefined ? settings.delays : defaultSettings(profile).delays;
  return { ...settings, ...given(rest), delays: { ...base, ...given(delays ?? {}) } };
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
}

export const listenSchema = z.strictObject({ instanceId: id, listen: id });
