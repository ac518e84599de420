/**
 * Every limit and period the actors use, validated and frozen. Durations are real milliseconds: the factor `speed` of the
 * configuration has already divided them.
 */
import { defaultKeeperSettings, type KeeperSettings } from './keeper-settings.ts';
import { defaultKubeSettings, type KubeSettings } from './kube-settings.ts';
import { defaultPlacementSettings, type PlacementSettings } from './placement-settings.ts';
import type { ReservationRules } from './reservation.ts';

type PolicySettings = PlacementSettings & KeeperSettings & KubeSettings;

export type Settings = PolicySettings &
  ReservationRules & {
    readonly nodeName: string;
    /** Names the cluster in the tags of what we create; empty when unknown. */
    readonly clusterId: string;
    /** What a pod gets: an IPv4 address, or in dual stack an IPv4/IPv6 pair. */
    readonly ipStack: 'ipv4' | 'dual';
    /** Low and high water mark: bounds on idle addresses. */
    readonly minIdle: number;
    readonly maxIdle: number;
    /** Cap on managed ENIs below what the instance type allows; null for no cap. */
    readonly maxEnis: number | null;
    /**
     * Where ENIs may be opened: a list for whichever zone the node is in, or lists by zone. Null, or no list for the zone, means the
     * instance's own vSwitch.
     */
    readonly vSwitchIds: readonly string[] | Readonly<Record<string, readonly string[]>> | null;
    /** null means those of the primary ENI. */
    readonly securityGroupIds: readonly string[] | null;
    /** Extra tags on the ENIs we create. */
    readonly eniTags: Readonly<Record<string, string>>;
    readonly mtu: number;
    /** How long a freed address rests before it is leased again. */
    readonly coolDownMs: number;
    /** The idle pool measures again after this time even if nothing changed. */
    readonly poolPeriodMs: number;
    /** Each ENI is compared with what the cloud reports at least this often; a difference counts when it is seen twice. */
    readonly cloudPeriodMs: number;
    /** How often Describe is asked while an ENI is attaching, detaching or deleting. */
    readonly describePeriodMs: number;
    readonly attachTimeoutMs: number;
    /** Until the device of an attached ENI is there and set up. */
    readonly settleTimeoutMs: number;
    readonly detachTimeoutMs: number;
    /** One call of the cloud. */
    readonly callTimeoutMs: number;
    /** After a failed call: first wait and longest wait. */
    readonly backoffMs: number;
    readonly backoffMaxMs: number;
    /** How long a vSwitch that ran dry is not asked again. */
    readonly holdDownMs: number;
    /** Addresses kept for pods are given out before a request is refused. */
    readonly reservationsYield: boolean;
    /** Between two passes of the garbage collector; how long a lease must be found gone; and what one pass may take. */
    readonly gcPeriodMs: number;
    readonly gcGraceMs: number;
    readonly gcTimeoutMs: number;
    /** Nothing is changed in the cloud. */
    readonly readOnly: boolean;
    /** Nothing is kept idle for a node to which no pod is scheduled. */
    readonly pausesWhenCordoned: boolean;
    /** Requests the factory lets wait at once. */
    readonly waitingMax: number;
    /** Inputs that the journal keeps; 0 for none. */
    readonly inputsMax: number;
  };

/** Addresses one Assign may carry. Source: ECS AssignPrivateIpAddresses. */
export const ASSIGN_MAX = 10;

export const defaultSettings: Omit<Settings, 'nodeName'> = {
  ...defaultPlacementSettings,
  ...defaultKeeperSettings,
  ...defaultKubeSettings,
  clusterId: '',
  ipStack: 'ipv4',
  minIdle: 0,
  maxIdle: 0,
  maxEnis: null,
  vSwitchIds: null,
  securityGroupIds: null,
  eniTags: {},
  mtu: 1500,
  coolDownMs: 30_000,
  poolPeriodMs: 120_000,
  cloudPeriodMs: 120_000,
  describePeriodMs: 1_000,
  attachTimeoutMs: 60_000,
  settleTimeoutMs: 30_000,
  detachTimeoutMs: 60_000,
  callTimeoutMs: 20_000,
  backoffMs: 500,
  backoffMaxMs: 30_000,
  holdDownMs: 600_000,
  reserveMs: 300_000,
  statefulKinds: [],
  reservationsYield: true,
  gcPeriodMs: 300_000,
  gcGraceMs: 300_000,
  gcTimeoutMs: 60_000,
  readOnly: false,
  pausesWhenCordoned: true,
  waitingMax: 1_000,
  inputsMax: 4_096,
};
