/**
 * Which ENIs of the instance are ours to use, and how many we may have beside the others. Pure.
 *
 * Managed = attached, not primary, the filter matches, not blocked. Everything else that hangs on the instance is foreign: never
 * touched, and counted against what the type allows, since the cloud counts it too.
 */
import type { CloudEni } from './eni.ts';

export type Tag = { readonly key: string; readonly value: string };

export type TagRules = {
  /** Only ENIs with all of these are managed; empty: all. */
  readonly eniTagFilter: Readonly<Record<string, string>>;
  /** ENIs with one of these are never managed. */
  readonly eniTagBlockList: readonly Tag[];
};

/**
 * ENIs of the eRDMA controller, those that people took out by hand (Terway's built-in eni_tag_block_list), and those of Terway's control plane, which
 * detaches and deletes them by its own objects (PodENI, Node), whatever the node says.
 */
export const builtInBlockList: readonly Tag[] = [
  { key: 'creator', value: 'alibabacloud-erdma-controller' },
  { key: 'terway.alibabacloud.com/excluded', value: 'true' },
  { key: 'creator', value: 'terway-controller' },
];

export function passesTagRules(tags: Readonly<Record<string, string>>, rules: TagRules): boolean {
  const has = (key: string, value: string): boolean => Object.hasOwn(tags, key) && tags[key] === value;
  if (rules.eniTagBlockList.some(({ key, value }) => has(key, value))) return false;
  return Object.entries(rules.eniTagFilter).every(([key, value]) => has(key, value));
}

/** @param leased pods hold addresses on it: they cannot be left alone because somebody changed a tag */
export function isManaged(eni: CloudEni, rules: TagRules, leased: boolean): boolean {
  return eni.type === 'Secondary' && (leased || passesTagRules(eni.tags, rules));
}

/** Whether it takes one of the places that the type has for ENIs. Members hang on a trunk and have places of their own. */
export const takesPlace = (eni: CloudEni): boolean => eni.type === 'Secondary' || eni.type === 'Trunk';

export type EniCaps = {
  readonly eniCapRatio: number;
  readonly eniCapShift: number;
  /** null: no cap but the type's. */
  readonly maxEnis: number | null;
};

/**
 * ENIs that we may have by configuration, whatever else hangs on the instance.
 * Source: Terway, maxENI = int(adapters * eni_cap_ratio) + eni_cap_shift - 1, capped by max_eni; one that is not more than the type
 * has places for beside the primary ENI.
 */
export function eniCap(typeEnis: number, { eniCapRatio, eniCapShift, maxEnis }: EniCaps): number {
  const byRatio = Math.trunc(typeEnis * eniCapRatio) + eniCapShift - 1;
  const wanted = maxEnis === null ? byRatio : Math.min(byRatio, maxEnis);
  return Math.max(0, Math.min(wanted, typeEnis - 1));
}

export type EniPlaces = {
  /** What configuration allows us. */
  readonly eniCap: number;
  /** Places the type has for ENIs beside the primary one. */
  readonly eniPlaces: number;
  /** Taken by ENIs that are not ours to use. */
  readonly foreignEnis: number;
};

/** ENIs that we may have with those others there. */
export function managedMax({ eniCap: cap, eniPlaces, foreignEnis }: EniPlaces): number {
  return Math.max(0, Math.min(cap, eniPlaces - foreignEnis));
}
