/**
 * Work that ends when either of two signals fires, and of which nothing stays with them when it is over.
 *
 * `AbortSignal.any` leaves a weak reference with each signal it was made of, for as long as that one lives: with the signal that ends the
 * daemon, and a call a second, 10 MB a day. Source: nodejs/node issue 54614; Node 20.20, lib/internal/abort_controller.js, `any`.
 */

/** Settles as the work does. `either` fires with the reason of the one that fired first, at once where one has fired already. */
export async function untilEither<T>(
  [one, other]: readonly [AbortSignal, AbortSignal],
  work: (either: AbortSignal) => Promise<T>,
): Promise<T> {
  const either = new AbortController();
  const fired = (signal: AbortSignal) => (): void => either.abort(signal.reason);
  const [ofOne, ofOther] = [fired(one), fired(other)];
  if (one.aborted) ofOne();
  else if (other.aborted) ofOther();
  one.addEventListener('abort', ofOne, { once: true });
  other.addEventListener('abort', ofOther, { once: true });
  try {
    return await work(either.signal);
  } finally {
    one.removeEventListener('abort', ofOne);
    other.removeEventListener('abort', ofOther);
  }
}
