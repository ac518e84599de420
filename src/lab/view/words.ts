/** What the charts and the wire say, in the words of people. Programs read the raw paths in the JSON. */

/** `running.serving` is `serving` to an operator: the innermost state says it. */
export function nodeWord(state: string): string {
  return spaced(state.split('.').at(-1) ?? state);
}

/** `in use`; and `in use · assigning` while a call is under way. */
export function eniWord(state: string): string {
  const [phase = '', inner] = state.split('.');
  return inner !== undefined && tellsOfCall(state) ? `${spaced(phase)} · ${spaced(inner)}` : spaced(phase);
}

/** Between calls there is nothing to tell; in the phases of coming and going the phase says it all. */
function tellsOfCall(state: string): boolean {
  const [phase, inner] = state.split('.');
  return phase === 'inUse' && inner !== undefined && !['resting', 'looking'].includes(inner);
}

/** The same, with how long the call has been under way, and since when the ENI is in use, or whatever else it is; `-` in a replay, which has no clock. */
export function eniSince(
  eni: { readonly state: string; readonly sinceMs: number; readonly phaseSinceMs?: number },
  nowMs: number,
): { readonly is: string; readonly since: string } {
  const { state, sinceMs, phaseSinceMs = sinceMs } = eni;
  const call = tellsOfCall(state) && sinceMs !== 0 ? ` (${forHowLong(nowMs - sinceMs)})` : '';
  return { is: `${eniWord(state)}${call}`, since: phaseSinceMs === 0 ? '-' : forHowLong(nowMs - phaseSinceMs) };
}

/** `inUse` as `in use`. */
function spaced(camel: string): string {
  return camel.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** `12 s`, `3 min`, `2 h`. */
export function forHowLong(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

export function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
