/** What sets off timers, for the few things beside the charts that wait: the clock of the root actor, or real time. */
export type Timers = {
  setTimeout(fire: () => void, delayMs: number): unknown;
  clearTimeout(timer: unknown): void;
};

/** Real time. A timer of ours keeps no process alive. */
export const realTimers: Timers = {
  setTimeout: (fire, delayMs) => setTimeout(fire, delayMs).unref(),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};
