/** Events and inputs, a line each. */
import type { Input } from '../core/input-journal.ts';
import type { Paint } from '../lab/view/paint.ts';
import type { Inspected } from '../ports/inspected.ts';
import { shortName } from './node-actors.ts';

/** Of an event's fields. */
const FIELDS_CHARS = 100;

/** Actor -> the state it was told in last: a state that stays is no news. */
export const eventStates = (): Map<string, string | null> => new Map();

/** null for what changes nothing that a reader would see. */
export function eventLine(event: Inspected, states: Map<string, string | null>, paint: Paint): string | null {
  const at = paint('gray', clock(event.atMs));
  const who = shortPath(event.actor);
  if (event.kind === 'actor') {
    states.set(event.actor, event.state);
    return event.chart === null
      ? null
      : `${at}  ${paint('bold', who)} is there${event.state ? `, ${event.state}` : ''}`;
  }
  if (event.kind === 'event') {
    // What an actor tells itself on its way is XState's own business.
    if (event.event.type === 'xstate.init' || event.event.type.startsWith('xstate.promise')) return null;
    return `${at}  ${senderOf(event, paint)}${paint('bold', who)}  ${eventName(event.event.type)}${fieldsOf(event.event, paint)}`;
  }
  const before = states.get(event.actor);
  if (event.state === null || before === event.state) return null;
  states.set(event.actor, event.state);
  const was = before == null ? '' : ` ${paint('gray', `(was ${before})`)}`;
  return `${at}  ${paint('bold', who)} ${paint('gray', 'is')} ${paint('cyan', event.state)}${was}`;
}

/** Its own timers and calls need no sender: the event says which it was. */
function senderOf({ actor, from }: Extract<Inspected, { kind: 'event' }>, paint: Paint): string {
  if (from === actor || from?.startsWith(`${actor}/`)) return '';
  return `${from === null ? 'outside' : shortPath(from)} ${paint('gray', '→')} `;
}

export function inputLine({ seq, atMs, actor, event }: Input, paint: Paint): string {
  const at = paint('gray', `${seq} ${clock(atMs)}`);
  return `${at}  ${paint('bold', actor)}  ${eventName(event.type)}${fieldsOf(event, paint)}`;
}

/** `xstate.done.actor.0.eni.attaching` is `done: eni.attaching`. */
function eventName(type: string): string {
  const [, kind, name = ''] = /^xstate\.(after|done\.actor|error\.actor|done\.state)\.(?:\d+\.)?(.+)$/.exec(type) ?? [];
  if (kind === undefined) return type;
  if (kind === 'after') return `timer: ${name}`;
  return `${kind === 'error.actor' ? 'failed' : 'done'}: ${name}`;
}

const DULL = new Set(['type', 'atMs', 'actorId', 'requestId']);

function fieldsOf(event: { readonly [field: string]: unknown }, paint: Paint): string {
  const told = Object.entries(event).filter(
    ([name, value]) => !DULL.has(name) && value !== undefined && value !== null,
  );
  if (told.length === 0) return '';
  const text = told
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : String(value)}`)
    .join(' ');
  return `  ${paint('gray', text.length <= FIELDS_CHARS ? text : `${text.slice(0, FIELDS_CHARS - 1)}…`)}`;
}

/** All are below the node. */
function shortPath(path: string): string {
  return shortName(path.startsWith('node/') ? path.slice('node/'.length) : path);
}

function clock(atMs: number): string {
  return new Date(atMs).toISOString().slice(11, 23);
}
