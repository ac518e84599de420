/** Port Host in memory, for tests and the simulation: what it tells is what they have put in. */
import type { Host, HostLink, HostPod } from '../ports/host.ts';

export class FakeHost implements Host {
  boot = 'boot-1';
  podsThere: readonly HostPod[] = [];
  readonly #links: () => readonly HostLink[];

  constructor(links: () => readonly HostLink[] = () => []) {
    this.#links = links;
  }

  async bootId(): Promise<string> {
    return this.boot;
  }

  async pods(): Promise<readonly HostPod[]> {
    return this.podsThere;
  }

  async links(): Promise<readonly HostLink[]> {
    return this.#links();
  }
}
