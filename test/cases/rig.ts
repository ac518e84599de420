/**
 * The rig of the cases: one node's actors over the real SDK and HTTP against the simulated cloud in its realistic profile, all of it
 * sped up. Faults and changes go through the cloud's admin interface, as a tester outside would plant them.
 *
 * The small node: three ENIs in all, so two of ours, with six IPv4 each. The first vSwitch is the instance's own.
 */
import type { Test } from 'tap';
import type { AddressState } from '../../src/core/address-book.ts';
import type { Lease } from '../../src/core/lease.ts';
import { defaultSettings, type Settings } from '../../src/core/settings.ts';
import type { Log } from '../../src/ports/log.ts';
import type { FakeKernel } from '../../src/simulation/fake-kernel.ts';
import { mutates } from '../../src/vpc/model.ts';
import type { ApiName } from '../../src/vpc/requests.ts';
import { type Settings as CloudSettings, defaultSettings as cloudDefaults } from '../../src/vpc/settings.ts';
import { defaultTopology, type Topology } from '../../src/vpc/topology.ts';
import { type OneNode, oneNode } from '../actors/one-node.ts';
import { atLeast, SPEED, sped } from './speed.ts';

export const [A, B] = ['vsw-lab-1', 'vsw-lab-2'];
export const INSTANCE = 'i-lab-node-1';
/** Addresses an ENI of the small node may hold, and pods the node may have. */
export const PER_ENI = 6;
export const CAPACITY = 2 * PER_ENI;
/** The product's own period, set short. */
export const PERIOD_MS = 5_000;
const CALL_TIMEOUT_FLOOR_MS = 2_000;
const ADD_DEADLINE_MS = 110_000;
/** A busy machine needs this long for what the cloud does in life within the deadline. */
const ADD_WITHIN_MS = atLeast(20_000, ADD_DEADLINE_MS);
/** Of ADDs some of which are in vain, and so are waited for until their deadline: what can be served is by then. */
export const IN_VAIN_MS = atLeast(7_000, ADD_DEADLINE_MS);

export type Line = { readonly level: keyof Log; readonly fields: object; readonly message: string };

export type Rig = Omit<OneNode, 'change'> & {
  readonly lines: Line[];
  /** Posts to the admin interface; rejects with its answer when it refuses. */
  readonly plant: (...faults: readonly object[]) => Promise<readonly string[]>;
  readonly unplant: (id?: string) => Promise<void>;
  readonly change: (...changes: readonly object[]) => Promise<readonly (readonly string[])[]>;
  /** Addresses by state; all 0 while the node has no pool. */
  readonly counts: () => Readonly<Record<AddressState, number>>;
  /** Mutating calls after `seq`, whatever their outcome. */
  readonly mutations: (seq?: number) => readonly string[];
  readonly lastSeq: () => number;
  /** ADDs for these pods at once, none of which fails the others; each has its answer after `withinMs` at the latest. */
  readonly adds: (names: readonly string[], withinMs?: number) => Promise<Answers>;
};

export type Answers = { readonly leases: readonly Lease[]; readonly errors: readonly Error[] };

export type RigOptions = {
  /** As in life: the rig divides them. Those that are not named have their defaults. */
  readonly settings?: Partial<Settings>;
  readonly cloud?: Partial<CloudSettings>;
  readonly topology?: Topology;
  readonly instanceType?: string;
  readonly kernel?: FakeKernel;
} & Pick<Parameters<typeof oneNode>[0], 'credentials' | 'access' | 'rateLimits'>;

export async function rig(t: Test, options: RigOptions = {}): Promise<Rig> {
  const lines: Line[] = [];
  const note =
    (level: keyof Log) =>
    (fields: object, message: string): void =>
      void lines.push({ level, fields, message });
  const log: Log = { debug() {}, info: note('info'), warn: note('warn'), error: note('error') };
  const settings = spedSettings({ poolPeriodMs: PERIOD_MS, ...options.settings });
  const lab = await oneNode({
    settings,
    topology: options.topology ?? defaultTopology(options.instanceType ?? 'lab.small', 1),
    profile: 'realistic',
    cloud: { speed: SPEED, ...options.cloud },
    log,
    timeoutMs: settings.callTimeoutMs,
    minuteMs: 60_000 / SPEED,
    ...(options.rateLimits === undefined ? {} : { rateLimits: options.rateLimits }),
    ...(options.kernel === undefined ? {} : { kernel: options.kernel }),
    ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
    ...(options.access === undefined ? {} : { access: options.access }),
  });
  t.teardown(() => lab.stop());
  const admin = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
    const init = body === undefined ? { method } : { method, body: JSON.stringify(body) };
    const answer = await fetch(`${lab.cloud.adminUrl}/${path}`, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  };
  const made: Rig = Object.defineProperties({} as Rig, {
    ...Object.getOwnPropertyDescriptors(lab),
    ...Object.getOwnPropertyDescriptors({
      lines,
      plant: async (...faults: readonly object[]) => (await admin('POST', 'faults', faults)).ids as string[],
      unplant: async (id?: string) => void (await admin('DELETE', id === undefined ? 'faults' : `faults/${id}`)),
      change: async (...changes: readonly object[]) => (await admin('POST', 'change', changes)).touched as string[][],
      counts: () => lab.report().pool?.counts ?? none,
      mutations: (seq = 0) =>
        lab.cloud.live.gateway.ledger
          .read(seq, null)
          .filter((entry) => mutates(entry.api as ApiName))
          .map((entry) => `${entry.api}:${entry.outcome}`),
      lastSeq: () => lab.cloud.live.gateway.ledger.lastSeq,
      add: (name: string, untilMs = Date.now() + ADD_WITHIN_MS, signal?: AbortSignal) => lab.add(name, untilMs, signal),
      adds: async (names: readonly string[], withinMs = ADD_WITHIN_MS): Promise<Answers> => {
        const untilMs = Date.now() + withinMs;
        const results = await Promise.allSettled(names.map((name) => made.add(name, untilMs)));
        return {
          leases: results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
          errors: results.flatMap((one) => (one.status === 'rejected' ? [one.reason as Error] : [])),
        };
      },
    }),
  });
  await made.serving();
  return made;
}

const none: Readonly<Record<AddressState, number>> = {
  idle: 0,
  offered: 0,
  bound: 0,
  cooling: 0,
  reserved: 0,
  leaving: 0,
  invalid: 0,
};

/** Every duration divided, but a call's time limit stays long enough for a busy machine unless the case sets it. */
export function spedSettings(given: Partial<Settings>): Settings {
  const whole = { ...defaultSettings, nodeName: 'node-1', ...given };
  const divided = Object.entries(whole).map(([name, value]) => [
    name,
    name.endsWith('Ms') && typeof value === 'number' ? sped(value) : value,
  ]);
  const settings = Object.fromEntries(divided) as Settings;
  if (given.callTimeoutMs !== undefined) return settings;
  return { ...settings, callTimeoutMs: Math.max(CALL_TIMEOUT_FLOOR_MS, settings.callTimeoutMs) };
}

/** The realistic delays with some of them changed. */
export function delays(changed: Partial<CloudSettings['delays']>): Pick<CloudSettings, 'delays'> {
  return { delays: { ...cloudDefaults('realistic').delays, ...changed } };
}

export const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

export const ipOf = (lease: Lease): string => lease.grant.address.ipv4;
