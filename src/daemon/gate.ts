/**
 * Between the servers and the backend: shut until the backend is there, shut again when the daemon stops, and what is under way then
 * gets an answer before the connections are cut, since a caller without one cannot know whether its pod has an address.
 */
import { EnactorError } from '../core/errors.ts';
import type { BackendMethod, BackendMethods } from '../core/wire.ts';
import type { Backend, Call } from '../ports/backend.ts';

export class Gate {
  #backend: Backend | null = null;
  #refusal = 'the daemon is starting';
  readonly #underWay = new Set<AbortController>();

  /** What the servers call. */
  readonly front: Backend = {
    AllocIP: (request, call) => this.#pass('AllocIP', request, call),
    ReleaseIP: (request, call) => this.#pass('ReleaseIP', request, call),
    GetIPInfo: (request, call) => this.#pass('GetIPInfo', request, call),
    RecordEvent: (request, call) => this.#pass('RecordEvent', request, call),
    Gc: (request, call) => this.#pass('Gc', request, call),
    Status: (request, call) => this.#pass('Status', request, call),
    Check: (request, call) => this.#pass('Check', request, call),
  };

  open(backend: Backend): void {
    this.#backend = backend;
  }

  /** New calls are refused from now on. */
  shut(refusal: string): void {
    this.#backend = null;
    this.#refusal = refusal;
  }

  /** Answers `unavailable` to whatever is still under way. */
  endCalls(): void {
    for (const ended of this.#underWay) ended.abort(new EnactorError('notReady', this.#refusal));
  }

  async #pass<M extends BackendMethod>(
    method: M,
    request: BackendMethods[M]['request'],
    call: Call,
  ): Promise<BackendMethods[M]['reply']> {
    if (this.#backend === null) throw new EnactorError('notReady', this.#refusal);
    const ended = new AbortController();
    this.#underWay.add(ended);
    try {
      const both = { ...call, signal: AbortSignal.any([call.signal, ended.signal]) };
      return await Promise.race([(this.#backend[method] as Backend[M])(request, both), aborted(ended.signal)]);
    } finally {
      this.#underWay.delete(ended);
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
