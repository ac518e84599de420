/** What a request is told that placement refuses. */
import type { Failure } from './errors.ts';
import { timeOfDay } from './instant-text.ts';

export const notSure: Failure = { code: 'notReady', detail: 'no address is left that is free for sure' };

export const allDry = (vSwitchIds: readonly string[]): Failure => ({
  code: 'vSwitchEmpty',
  detail: `no address left in ${vSwitchIds.join(', ')}`,
});

/** Whoever reads it, in the runtime's error or in an event of the pod, learns when asking again may help. */
export const nextTry = ({ code, detail }: Failure, atMs: number): Failure => ({
  code,
  detail: `${detail.replace(/\.$/, '')}; next try at ${timeOfDay(atMs)}`,
});
