/**
 * Every ENI has one actor: of two, one may take away what the other counts on, or give out an address that the other has promised. Who makes an
 * ENI has it from the moment that the cloud made it, whether he knows its id or not. Invariant 6. And every address that may be given out, or is held, is
 * in one book: of two, each may give it to a pod. Invariant 1.
 */
import { type EniContext, tokenOf } from '../../statecharts/eni-context.ts';
import type { Report } from './violation.ts';

/** @param made the token of a Create -> the ENI that came of it; returns how many were looked at */
export function checkOwners(
  node: string,
  enis: readonly EniContext[],
  made: ReadonlyMap<string, string>,
  report: Report,
): number {
  const owners = new Map<string, number>();
  for (const eni of enis) {
    const eniId = eni.eniId ?? made.get(tokenOf(eni));
    if (eniId === undefined) continue;
    const other = owners.get(eniId);
    if (other !== undefined) report('6', `${node}: ${eniId} is eni:${other}'s, and eni:${eni.slot}'s`);
    owners.set(eniId, eni.slot);
  }
  const books = new Map<string, number>();
  for (const { book, slot } of enis)
    for (const { address, state } of book) {
      if (state === 'leaving' || state === 'invalid') continue;
      const other = books.get(address.ipv4);
      if (other !== undefined) report('1', `${node}: eni:${other} and eni:${slot} both have ${address.ipv4}`);
      books.set(address.ipv4, slot);
    }
  return enis.length + books.size;
}
