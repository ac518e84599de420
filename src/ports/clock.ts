/** Wall-clock milliseconds since the epoch. Timers are XState's, on the clock given to the root actor. */
export interface Clock {
  nowMs(): number;
}
