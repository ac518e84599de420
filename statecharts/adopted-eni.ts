/** An ENI that was there before its actor, and all that is known of it. */
import type { Held } from '../src/core/address-book.ts';
import type { CloudEni, Subnet } from '../src/core/eni.ts';
import type { Intent } from '../src/core/intent.ts';
import type { Said } from '../src/core/late-describe.ts';

export type AdoptedEni = {
  /** null: of a Create that an earlier life began, to be made once more. */
  readonly eni: CloudEni | null;
  /** What an earlier life was about to do to it. */
  readonly intent?: Intent | null;
  /** Addresses that an earlier life was about to have taken away. */
  readonly going?: readonly string[];
  readonly ours: boolean;
  readonly subnet: Subnet;
  readonly held: ReadonlyMap<string, Held>;
  readonly coolUntilMs: ReadonlyMap<string, number>;
  /** What answers said to an earlier life a moment ago. */
  readonly said?: readonly Said[];
  /** IPv6 addresses that may be those of a lease which cannot be read. */
  readonly heldBack?: readonly string[];
  readonly routeTable: number | null;
};
