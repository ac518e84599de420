/** Port Host in memory, for tests and the simulation: what it tells is what they have put in, or what `pods` says. */
import type { Host, HostLink, HostPod } from '../ports/host.ts';

export class FakeHost implements Host {
  boot = 'boot-1';
  podsThere: readonly HostPod[] = [];
  readonly #links: () => readonly HostLink[];
  readonly #pods: () => readonly HostPod[];

  constructor(links: () => readonly HostLink[] = () => [], pods: () => readonly HostPod[] = () => this.podsThere) {
    this.#links = links;
    this.#pods = pods;
  }

  async bootId(): Promise<string> {
    return this.boot;
  }

  async pods(): Promise<readonly HostPod[]> {
    return this.#pods();
  }

  async links(): Promise<readonly HostLink[]> {
    return this.#links();
  }
}
