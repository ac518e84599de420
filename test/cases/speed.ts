/**
 * How much faster than life the cases run. Every period, delay and lifetime that a case writes goes through `sped`, so that one file
 * takes seconds in CI and runs as written in `npm run soak` (ENACTOR_SPEED=1).
 */
const DEFAULT_SPEED = 60;

export const SPEED = speedOf(process.env.ENACTOR_SPEED);

/** Milliseconds as the case has them, to milliseconds as this run has them. */
export function sped(ms: number): number {
  return ms === 0 ? 0 : Math.max(1, Math.round(ms / SPEED));
}

/** Real milliseconds below which a wait means nothing on a machine that other tests share. */
export function atLeast(realMs: number, ms: number): number {
  return Math.max(realMs, sped(ms));
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, sped(ms)));
}

function speedOf(text: string | undefined): number {
  const speed = Number(text ?? DEFAULT_SPEED);
  if (!(speed > 0)) throw new RangeError(`ENACTOR_SPEED: ${text} is no positive number`);
  return speed;
}
