import type { Family } from '../../../core/ip.ts';

const AF_INET = 2;
const AF_INET6 = 10;

export function afOf(family: Family): number {
  return family === 4 ? AF_INET : AF_INET6;
}

export function familyOfAf(af: number): Family {
  return af === AF_INET6 ? 6 : 4;
}
