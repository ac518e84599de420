/**
 * Keys of Terway's configuration that Enactor knows and does not implement.
 *
 * One that would change behaviour is refused with a sentence, since a node that silently does something else than its
 * configuration says is worse than one that does not start. The others are noted and ignored.
 * Source: Terway eni_conf, as told in its types and defaults.
 */

/** Values that mean "off" or "the default"; anything else is refused with the sentence. */
type Unsupported = { readonly harmless: readonly unknown[]; readonly sentence: string };

const off = [false, 'false', '', null];

export const unsupportedKeys: Readonly<Record<string, Unsupported>> = {
  enable_eni_trunking: { harmless: off, sentence: 'trunk ENIs are not supported' },
  enable_erdma: { harmless: off, sentence: 'eRDMA is not supported' },
  ipam_type: {
    harmless: ['', null, 'default'],
    sentence: 'addresses are managed by the node itself; CRD based IPAM is not supported',
  },
  enable_ip_prefix: { harmless: off, sentence: 'prefix delegation is not supported' },
  resource_group_id: { harmless: ['', null], sentence: 'resource groups are not supported' },
  enable_eip_pool: { harmless: off, sentence: 'elastic IPs are not supported' },
};

/** Nothing that the keys ask for is lost by ignoring them here. */
export const ignoredKeys: readonly string[] = [
  'version',
  'region_id',
  'prefix',
  'extra_routes',
  'kube_client_qps',
  'kube_client_burst',
  'backoff_override',
  'ipv4_prefix_count',
  'ipv6_prefix_count',
  'allow_eip_rob',
  'eni_cap_policy',
  'hot_plug',
];

/** The sentence why this key's value cannot be taken, or null when it changes nothing. */
export function refusalOf(key: string, value: unknown): string | null {
  if (key === 'ip_stack' && value === 'ipv6')
    return 'IPv6 alone is not supported, nor is it in Terway’s daemon; set ipv4 or dual';
  const known = Object.hasOwn(unsupportedKeys, key) ? unsupportedKeys[key] : undefined;
  if (known === undefined || known.harmless.includes(value)) return null;
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return null;
  return known.sentence;
}
