/**
 * One call in, one answer out: the bridge from promises, which the outside speaks, to messages.
 *
 * Every request has an id, and every answer names one; an answer nobody waits for any more is dropped.
 */
import { EnactorError } from '../src/core/errors.ts';
import type { Lease } from '../src/core/lease.ts';
import type { Answer } from '../statecharts/messages.ts';

export class Replies {
  readonly #waiting = new Map<string, (answer: Answer) => void>();

  /** Resolves with the answer to `requestId`; when `signal` fires first, rejects and calls `onAbort`. */
  expect(requestId: string, signal: AbortSignal, onAbort: () => void): Promise<Lease | null> {
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        this.#waiting.delete(requestId);
        onAbort();
        reject(new EnactorError('cancelled', 'the caller went away'));
      };
      if (signal.aborted) {
        reject(new EnactorError('cancelled', 'the caller went away'));
        return;
      }
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.set(requestId, (answer) => {
        signal.removeEventListener('abort', abort);
        if (answer.ok) resolve(answer.lease);
        else reject(new EnactorError(answer.failure.code, answer.failure.detail));
      });
    });
  }

  settle(answer: Answer): void {
    const done = this.#waiting.get(answer.requestId);
    this.#waiting.delete(answer.requestId);
    done?.(answer);
  }

  /** Nobody is left to answer. */
  rejectAll(detail: string): void {
    for (const requestId of [...this.#waiting.keys()]) {
      this.settle({ type: 'answer', requestId, ok: false, failure: { code: 'notReady', detail } });
    }
  }

  get size(): number {
    return this.#waiting.size;
  }
}
