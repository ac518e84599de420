/** Whether instances exist: asked by whoever clears up behind nodes that are gone, never by a node's daemon. */
export interface Instances {
  /** Of these ids those that exist, in whatever state. Rejects with CloudError as the calls of port Cloud do. */
  instancesThere(ids: readonly string[], signal: AbortSignal): Promise<ReadonlySet<string>>;
}
