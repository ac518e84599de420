/** Durations as Go writes them (`1m30s`, `500ms`, `1.5h`), which is what Terway's configuration has. Source: Go time.ParseDuration. */

const UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

const PART = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;

/** Milliseconds, or null when the text is no duration. Negative ones are none: nothing here lasts less than nothing. */
export function durationMs(text: string): number | null {
  if (text === '0') return 0;
  let totalMs = 0;
  let at = 0;
  while (at < text.length) {
    PART.lastIndex = at;
    const found = PART.exec(text);
    if (found === null) return null;
    totalMs += Number(found[1]) * (UNIT_MS[found[2] ?? ''] ?? 0);
    at = PART.lastIndex;
  }
  return at === 0 ? null : totalMs;
}
