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
  credential_path: {
    harmless: ['', null],
    sentence: 'encrypted credential files are not read; set access_key and access_secret',
  },
  ip_stack: { harmless: ['', null, 'ipv4'], sentence: 'pods get IPv4 alone; dual stack is not supported yet' },
  enable_eni_trunking: { harmless: off, sentence: 'trunk ENIs are not supported' },
  enable_erdma: { harmless: off, sentence: 'eRDMA is not supported' },
  ipam_type: {
    harmless: ['', null, 'default'],
    sentence: 'addresses are managed by the node itself; CRD based IPAM is not supported',
  },
  enable_ip_prefix: { harmless: off, sentence: 'prefix delegation is not supported' },
  eni_tag_filter: { harmless: [null], sentence: 'managing only ENIs with certain tags is not supported yet' },
  min_eni: { harmless: [0, null], sentence: 'say min_pool_size, in addresses, instead' },
  eni_cap_ratio: { harmless: [0, 1, null], sentence: 'say max_eni instead' },
  eni_cap_shift: { harmless: [0, null], sentence: 'say max_eni instead' },
  vswitch_selection_policy: {
    harmless: ['', null, 'random'],
    sentence: 'vSwitches are tried in the order of the list',
  },
  eni_selection_policy: { harmless: ['', null, 'most_ips'], sentence: 'the fullest ENI is used first' },
  resource_group_id: { harmless: ['', null], sentence: 'resource groups are not supported' },
  idle_ip_reclaim_after: { harmless: ['', null], sentence: 'idle addresses go by max_pool_size alone' },
  enable_eip_pool: { harmless: off, sentence: 'elastic IPs are not supported' },
};

/** Nothing that the keys ask for is lost by ignoring them here. */
export const ignoredKeys: readonly string[] = [
  'version',
  'region_id',
  'prefix',
  'extra_routes',
  'disable_device_plugin',
  'kube_client_qps',
  'kube_client_burst',
  'backoff_override',
  'custom_stateful_workload_kinds',
  'enable_patch_pod_ips',
  'ip_warm_up_size',
  'idle_ip_reclaim_interval',
  'idle_ip_reclaim_batch_size',
  'idle_ip_reclaim_jitter_factor',
  'ipv4_prefix_count',
  'ipv6_prefix_count',
  'eni_tag_block_list',
  'allow_eip_rob',
  'eni_cap_policy',
  'hot_plug',
];

/** The sentence why this key's value cannot be taken, or null when it changes nothing. */
export function refusalOf(key: string, value: unknown): string | null {
  const known = Object.hasOwn(unsupportedKeys, key) ? unsupportedKeys[key] : undefined;
  if (known === undefined || known.harmless.includes(value)) return null;
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 0) return null;
  return known.sentence;
}
