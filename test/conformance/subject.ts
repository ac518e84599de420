/** A plugin that is tried, and what can be done to whatever stands behind it. */

export type Hands = {
  /** The attachments that have an address, as `container/interface`. */
  leases(): readonly string[];
  /** Nobody answers the plugin until `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** The plugin is answered that no address is left, or again that there are some. */
  exhaust(on: boolean): void;
  /** Answers do not come until it is turned off. */
  hang(on: boolean): void;
  /** Pods get both families, or again one. */
  dual(on: boolean): void;
};

export type Subject = {
  /** Path of the executable. */
  readonly plugin: string;
  /** The network configuration as the plugin gets it. */
  readonly conf: Readonly<Record<string, unknown>>;
  /** null: nothing is known of what is behind it; some points cannot be asked then. */
  readonly hands: Hands | null;
};
