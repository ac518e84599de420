/**
 * One call of the cloud in its turn: waits until it may leave, makes it, and lets the turns learn how it went.
 *
 * A look whose API has rested is made again: a page that fails would cost all pages. What a pod waits for is told at once, so that it can be
 * read why; the next call of that API waits until it has rested.
 */
import type { CloudApi } from '../../core/api-rates.ts';
import { cloudActionOf } from '../../core/cloud-errors.ts';
import { CloudError, type TurnedCall } from '../../ports/cloud.ts';
import type { CallTurns, Turn } from './call-turns.ts';

const LOOK_TRIES = 3;

export type Turns = Pick<CallTurns, 'take' | 'reserve' | 'done' | 'throttled'>;

/** One attempt. Rejects as `take` and `once` do. */
export async function inTurn<T>(
  turns: Turns,
  turn: Turn & { readonly signal: AbortSignal },
  once: () => Promise<T>,
): Promise<T> {
  await turns.take(turn, turn.signal);
  const answer = await once();
  turns.done(turn.api, turn.who);
  return answer;
}

/** `attempt` in its turn, as often as a throttled one is worth it. */
export async function unlessThrottled<T>(turns: Turns, api: CloudApi, attempt: () => Promise<T>): Promise<T> {
  const tries = api.startsWith('Describe') ? LOOK_TRIES : 1;
  for (let throttled = 1; ; throttled += 1) {
    try {
      return await attempt();
    } catch (thrown) {
      if (!isThrottled(thrown)) throw thrown;
      turns.throttled(api);
      if (throttled >= tries) throw thrown;
    }
  }
}

/** By what name the cloud counts the calls that may wait before it is settled what they ask for. */
export const TURNED_API = {
  createEni: 'CreateNetworkInterface',
  assignIpv4: 'AssignPrivateIpAddresses',
  assignIpv6: 'AssignIpv6Addresses',
} as const satisfies Readonly<Record<TurnedCall, CloudApi>>;

const isThrottled = (thrown: unknown): boolean =>
  thrown instanceof CloudError && thrown.cloudCode !== '' && cloudActionOf(thrown.cloudCode) === 'slowDown';
