/** What the host still has of a sandbox, whoever else has forgotten it. Reads only; what belongs to a pod is the plugin's to remove. */
import type { Sandbox } from '../core/sandbox.ts';

export interface Sandboxes {
  /**
   * Whether anything says that the sandbox's network namespace is there yet: the host end of its pair, which dies with the namespace
   * that holds the other end; a route that leads one of these addresses to the host end of some pod; or the namespace's own path.
   * Rejects with EnactorError `device` when the host cannot be asked.
   */
  isThere(sandbox: Sandbox, ips: readonly string[]): Promise<boolean>;
}
