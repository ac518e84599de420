/**
 * What the host end of a pod is called: by the pod, as Calico and Terway call it, so that tools which know pods find it.
 * Source: Terway's host veth name, SHA-1 of `<namespace>.<pod><interface>` with eth0 as nothing; the same in all of its versions.
 */
import { DEFAULT_IF_NAME, type PodRef } from './sandbox.ts';
import { sha1Hex } from './sha1.ts';

export const HOST_VETH_PREFIX = 'cali';
/** With the prefix 15 characters, the most a device name can have. */
export const HOST_VETH_DIGITS = 11;

export function hostVethName({ namespace, name }: Pick<PodRef, 'namespace' | 'name'>, ifName: string): string {
  const text = `${namespace}.${name}${ifName === DEFAULT_IF_NAME ? '' : ifName}`;
  return HOST_VETH_PREFIX + sha1Hex(text).slice(0, HOST_VETH_DIGITS);
}
