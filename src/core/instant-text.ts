/** An instant as people read it in a sentence: the time of day in UTC, to the second, since nodes and readers live in many zones. */
export function timeOfDay(atMs: number): string {
  return Number.isFinite(atMs) ? `${new Date(atMs).toISOString().slice(11, 19)} UTC` : 'no known time';
}
