/** Which of a node's calls will be late. */
import type { ApiName } from '../vpc/requests.ts';
import type { Lateness } from './virtual-cloud.ts';

/** The next `times` calls of an API. */
export type LateCalls = Lateness & { readonly api: ApiName; readonly times: number };

export class LatePlan {
  #planned: { readonly calls: LateCalls; readonly kept: () => void; left: number }[] = [];

  /** Answers with the way to take back what is left of them. `kept` hears of each call that is late. */
  plan(calls: LateCalls, kept: () => void): () => void {
    const one = { calls, kept, left: calls.times };
    this.#planned.push(one);
    return () => {
      this.#planned = this.#planned.filter((other) => other !== one);
    };
  }

  /** Decides about one call that has arrived. */
  take(api: ApiName): Lateness | null {
    if (this.#planned.length === 0) return null;
    const one = this.#planned.find(({ calls }) => calls.api === api);
    if (one === undefined) return null;
    one.left -= 1;
    if (one.left === 0) this.#planned = this.#planned.filter((other) => other !== one);
    one.kept();
    return one.calls;
  }

  clear(): void {
    this.#planned = [];
  }
}
