/** How the page says things. Pure. */
import type { AddressState } from '../../core/address-book.ts';
import type { Inspected } from '../../ports/inspected.ts';

/** In the order of the legend; `glyph` says the same as the colour to those who do not see colours. */
export const ADDRESS_STATES: Readonly<Record<AddressState, { readonly glyph: string; readonly means: string }>> = {
  bound: { glyph: '■', means: 'a pod has it' },
  offered: { glyph: '◆', means: 'promised to a pod, not yet on disk' },
  idle: { glyph: '□', means: 'free' },
  cooling: { glyph: '▨', means: 'freed, rests before it is given out again' },
  reserved: { glyph: '◇', means: 'kept for a StatefulSet’s pod' },
  leaving: { glyph: '▽', means: 'is being given back to the vSwitch' },
  invalid: { glyph: '✕', means: 'the cloud has it no more while we hold it' },
};

/** `eni:10` comes after `eni:9`. One for all: to make one takes longer than to compare a hundred names. */
export const compareNames = new Intl.Collator('en', { numeric: true }).compare;

export function clock(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23);
}

export function ago(ms: number): string {
  if (ms < 1_000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor(ms / 1_000) % 60} s`;
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor(ms / 60_000) % 60} min`;
}

/** `xstate.done.actor.0.eni.attaching` is `done: eni.attaching`. */
export function eventName(type: string): string {
  const [, kind, name = ''] = /^xstate\.(after|done\.actor|error\.actor|done\.state)\.(?:\d+\.)?(.+)$/.exec(type) ?? [];
  if (kind === undefined) return type;
  if (kind === 'after') return `after ${name}`;
  return `${kind === 'error.actor' ? '✗' : '✓'} ${name}`;
}

/** `inUse.resting.quiet` is quiet, for who has little room. */
export function lastOf(state: string): string {
  return state.slice(state.lastIndexOf('.') + 1);
}

/** What actors tell themselves on their way is XState's own business. */
export function isDull(seen: Inspected): boolean {
  if (seen.kind === 'actor') return true;
  if (seen.kind === 'state') return seen.state === null;
  return /^xstate\.(init|promise|stop)/.test(seen.event.type);
}

/** `lease:c-web-1/eth0` of a path, its container cut to what people read. */
export function nameOf(path: string): string {
  const known = names.get(path) ?? nameIn(path);
  if (names.size > NAMES_MAX) names.clear();
  names.set(path, known);
  return known;
}

/** Every row that is drawn asks. */
const names = new Map<string, string>();
const NAMES_MAX = 5_000;

function nameIn(path: string): string {
  const [, containerId, ifName] = /lease:([^/]+)\/([^/]+)$/.exec(path) ?? [];
  if (containerId !== undefined) return `lease:${containerId.slice(0, 12)}${ifName === 'eth0' ? '' : `/${ifName}`}`;
  return path.slice(path.lastIndexOf('/') + 1);
}

const DULL_FIELDS = new Set(['type', 'atMs', 'actorId', 'requestId']);

/** The fields of an event in a line. */
export function fieldsOf(event: { readonly [field: string]: unknown }, most = 160): string {
  const told = Object.entries(event).filter(([name, value]) => !DULL_FIELDS.has(name) && value != null);
  const text = told
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(' ');
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
