/** What the instance is and may own, as metadata and the cloud tell. */
import type { VSwitchOption } from './factory-settings.ts';

export type NodeFacts = {
  readonly instanceId: string;
  readonly nodeIp: string;
  /** ENIs we may have by configuration, places the type has for ENIs beside the primary one, and addresses on each (in dual stack pairs). */
  readonly eniCap: number;
  readonly eniPlaces: number;
  readonly ipv4PerEni: number;
  readonly vSwitches: readonly VSwitchOption[];
  /** Chance, drawn once; in [0, 1). */
  readonly seed: number;
  readonly securityGroupIds: readonly string[];
};
