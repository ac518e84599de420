/**
 * What the texts of the metadata service mean, checked: a value that is not what its path promises is an error, never a guess.
 *
 * Source: ECS "Instance metadata items". `private-ipv4s` is a JSON array, `ipv6s` has brackets without quotes; both are read alike.
 */
import { canonicalIp, cidrText, type Family, familyOf, parseCidr } from '../../core/ip.ts';
import { metadataError } from './metadata-client.ts';

const MAC = /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** An id, a zone, an instance type. Only the first line counts, without a slash at its end. */
export function nameAt(path: string, text: string): string {
  const value = firstLine(text);
  if (!NAME.test(value)) throw metadataError(path, `${quoted(value)} is no name`);
  return value;
}

export function macAt(path: string, text: string): string {
  const value = firstLine(text).toLowerCase();
  if (!MAC.test(value)) throw metadataError(path, `${quoted(value)} is no MAC address`);
  return value;
}

export function macsAt(path: string, text: string): string[] {
  return text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => macAt(path, line));
}

export function ipAt(path: string, text: string, family: Family): string {
  return ip(path, firstLine(text), family);
}

/** `["a","b"]` and `[a,b]`; one bare address as well. */
export function ipsAt(path: string, text: string, family: Family): string[] {
  const inner = text.trim().replace(/^\[([^[\]]*)\]$/s, '$1');
  if (inner.trim() === '') return [];
  return inner.split(',').map((item) => ip(path, item.trim().replace(/^"(.*)"$/, '$1'), family));
}

/** With its host bits cleared. */
export function cidrAt(path: string, text: string, family: Family): string {
  const value = firstLine(text);
  try {
    const cidr = parseCidr(value);
    if (cidr.family === family) return cidrText(cidr);
  } catch {
    // Told below, with the path.
  }
  throw metadataError(path, `${quoted(value)} is no IPv${family} prefix`);
}

function ip(path: string, text: string, family: Family): string {
  const value = canonicalIp(text);
  if (value === null || familyOf(value) !== family)
    throw metadataError(path, `${quoted(text)} is no IPv${family} address`);
  return value;
}

function firstLine(text: string): string {
  return (text.trim().split('\n')[0] ?? '').trim().replace(/\/$/, '');
}

function quoted(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
