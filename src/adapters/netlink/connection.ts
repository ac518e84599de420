/** An entry of the connection tracking, as far as we need it: the addresses of both directions, and what names it to the kernel. */
export type Connection = {
  /** Source and destination, in the direction of the first packet, and as answers are expected. */
  readonly original: { readonly source: string; readonly destination: string };
  readonly reply: { readonly source: string; readonly destination: string };
  /** The attributes that a deletion repeats: tuple, zone and id. */
  readonly name: Buffer;
};

/** Where in an entry an address may stand when the connection is a pod's: it began it, it was called, or a service led to it. */
export type Position = 'originalSource' | 'originalDestination' | 'replySource';

export function concerns({ original, reply }: Connection, ips: ReadonlySet<string>): boolean {
  return ips.has(original.source) || ips.has(original.destination) || ips.has(reply.source);
}
