/** Port Sandboxes in memory: every sandbox is there but those that somebody says are not. What it cannot show: what the real one looks at. */
import type { Sandbox } from '../core/sandbox.ts';
import type { Sandboxes } from '../ports/sandboxes.ts';

export class FakeSandboxes implements Sandboxes {
  /** Container ids of those of which nothing is left. */
  readonly gone = new Set<string>();

  /** None can be seen, there or not. */
  hidden: () => boolean = () => false;

  async isThere({ containerId }: Sandbox): Promise<boolean> {
    return !this.gone.has(containerId) && !this.hidden();
  }
}
