import type { Clock } from '../src/ports/clock.ts';
import type { Cloud } from '../src/ports/cloud.ts';
import type { Entropy } from '../src/ports/entropy.ts';
import type { Host } from '../src/ports/host.ts';
import type { Kernel } from '../src/ports/kernel.ts';
import type { Kubernetes } from '../src/ports/kubernetes.ts';
import type { Log } from '../src/ports/log.ts';
import type { Metadata } from '../src/ports/metadata.ts';
import type { Predecessor } from '../src/ports/predecessor.ts';
import type { Sandboxes } from '../src/ports/sandboxes.ts';
import type { Store } from '../src/ports/store.ts';

/** Everything the actors touch the world with. */
export type NodePorts = {
  readonly cloud: Cloud;
  readonly metadata: Metadata;
  readonly store: Store;
  readonly kernel: Kernel;
  readonly host: Host;
  /** Absent: nobody had this node before us. */
  readonly predecessor?: Predecessor;
  readonly kubernetes: Kubernetes;
  readonly sandboxes: Sandboxes;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly log: Log;
};
