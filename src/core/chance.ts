/**
 * Chance for code that has to stay pure: one number drawn from the port Entropy when the node starts is spread into as many as are
 * needed, so that the same seed decides alike in a replay.
 *
 * Source: the finaliser of MurmurHash3 (A. Appleby, public domain): spreads choices well, and keeps no secret.
 */

/** Uniform in [0, 1), the same for the same two numbers. `seed` is in [0, 1), `nth` whole. */
export function fractionAt(seed: number, nth: number): number {
  let mixed = (Math.floor(seed * 4_294_967_296) ^ Math.imul(nth + 1, 0x9e3779b1)) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return ((mixed ^ (mixed >>> 16)) >>> 0) / 4_294_967_296;
}
