/**
 * What Terway's daemon remembers of a pod: one JSON value of its resource database. Versions before the current one wrote items of their
 * addresses as an id alone, `<mac>.<ipv4>[-<ipv6>]`.
 * Source: Terway, daemon/daemon.go (PodResources), types/daemon/res.go.
 */
import { z } from 'zod';
import { canonicalIp } from './ip.ts';

export type TerwayRecord = {
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string | null };
  /** Empty in records of versions that did not keep it. */
  readonly containerId: string;
  readonly netns: string;
  /** `eniIp`: an address of a shared ENI; `eni`: an ENI of its own; `podEni`: the controller's, and nothing of the daemon's. */
  readonly kind: 'eniIp' | 'eni' | 'podEni' | 'other';
  readonly eni: { readonly mac: string; readonly eniId: string | null } | null;
  readonly ipv4: string | null;
  readonly ipv6: string | null;
  /** How long the address stays with the pod once its sandbox is gone; 0: it does not. */
  readonly reserveMs: number;
};

const NS_PER_MS = 1e6;
const text = z.string().nullish();
const item = z.object({ type: text, id: text, eni_id: text, eni_mac: text, ipv4: text, ipv6: text });
const stored = z.object({
  Resources: z.array(item).nullish(),
  PodInfo: z
    .object({
      Name: text,
      Namespace: text,
      PodUID: text,
      IPStickTime: z.number().nullish(),
      PodENI: z.boolean().nullish(),
    })
    .nullish(),
  NetNs: text,
  ContainerID: text,
});

/** `key` is `namespace/name`. Throws RangeError that names the key and what is wrong. */
export function parseTerwayRecord(key: string, value: string): TerwayRecord {
  const read = stored.safeParse(jsonOf(key, value));
  if (!read.success) {
    const [issue] = read.error.issues;
    throw new RangeError(`record ${key}: ${issue?.path.join('.') || 'it'}: ${issue?.message}`);
  }
  const { Resources, PodInfo, NetNs, ContainerID } = read.data;
  const [namespace = '', name = ''] = key.split('/');
  const address = (Resources ?? []).find(({ type }) => type === 'eniIp' || type === 'eni');
  const byId = parsedId(address?.id ?? '');
  const mac = (address?.eni_mac || byId.mac).toLowerCase();
  return {
    pod: { namespace: PodInfo?.Namespace || namespace, name: PodInfo?.Name || name, uid: PodInfo?.PodUID || null },
    containerId: ContainerID ?? '',
    netns: NetNs ?? '',
    kind: kindOf(address?.type ?? null, PodInfo?.PodENI === true),
    eni: mac === '' ? null : { mac, eniId: address?.eni_id || null },
    ipv4: canonicalIp(address?.ipv4 || byId.ipv4),
    ipv6: canonicalIp(address?.ipv6 || byId.ipv6),
    reserveMs: Math.max(0, Math.round((PodInfo?.IPStickTime ?? 0) / NS_PER_MS)),
  };
}

function kindOf(type: string | null, podEni: boolean): TerwayRecord['kind'] {
  if (type === 'eniIp' || type === 'eni') return type;
  return podEni ? 'podEni' : 'other';
}

/** `00:16:3e:00:00:01.192.168.0.20-2001:db8::20`; of an ENI of its own the MAC alone. */
function parsedId(id: string): { readonly mac: string; readonly ipv4: string; readonly ipv6: string } {
  const [, mac = '', ipv4 = '', ipv6 = ''] =
    /^((?:[0-9a-f]{2}:){5}[0-9a-f]{2})(?:\.([0-9.]+))?(?:-(.+))?$/i.exec(id) ?? [];
  return { mac, ipv4, ipv6 };
}

function jsonOf(key: string, value: string): unknown {
  try {
    return JSON.parse(value);
  } catch {
    throw new RangeError(`record ${key}: it is no JSON`);
  }
}
