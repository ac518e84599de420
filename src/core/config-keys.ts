/**
 * Every key of the configuration: what it is when nobody says it, as the file would say it, and whether a change of it takes effect in
 * a running daemon.
 *
 * `live` is what only the next decision looks at (how many, how long, where the next ENI goes); `restart` is what has shaped things that
 * are there (which ENIs are managed, what an address is, whose they are), so that a change would need them to be made anew.
 */
export type Change = 'live' | 'restart';

export type ConfigKey = {
  readonly otherwise: unknown;
  readonly change: Change;
  readonly secret?: true;
};

const live = (otherwise: unknown): ConfigKey => ({ otherwise, change: 'live' });
const restart = (otherwise: unknown): ConfigKey => ({ otherwise, change: 'restart' });
const secret = (): ConfigKey => ({ otherwise: '', change: 'restart', secret: true });

/** A default that is no value of the key: another key's, or what the cloud says. */
export const said = (words: string) => ({ words });

export const configKeys = {
  access_key: secret(),
  access_secret: secret(),
  credential_path: restart(said('only looked for where add-ons have it')),
  credential_source: restart(said('the first that is configured')),
  ram_role: restart(said('whichever the instance has')),
  cluster_id: restart(''),
  vswitches: live(said('the instance’s own vSwitch')),
  vswitch_selection_policy: live('random'),
  security_group: live(''),
  security_groups: live(said('those of the primary ENI')),
  eni_tags: live({}),
  eni_tag_filter: restart({}),
  eni_tag_block_list: restart(
    said('ENIs of the eRDMA controller and of Terway’s control plane, and those tagged as excluded'),
  ),
  ip_stack: restart('ipv4'),
  min_pool_size: live(0),
  max_pool_size: live(0),
  min_eni: live(0),
  max_eni: live(said('what the instance type allows')),
  eni_cap_ratio: live(1),
  eni_cap_shift: live(0),
  eni_selection_policy: live('most_ips'),
  ip_warm_up_size: restart(0),
  idle_ip_reclaim_after: live(said('never')),
  idle_ip_reclaim_interval: live('10m'),
  idle_ip_reclaim_batch_size: live(5),
  idle_ip_reclaim_jitter_factor: live('0.1'),
  adaptive_pool: live(false),
  eni_min_age: live('1m'),
  quota_hold: live('1m'),
  hold_down: live('10m'),
  cool_down: live('30s'),
  custom_stateful_workload_kinds: live([]),
  ip_reservation: live('5m'),
  ip_reservation_yields: live(true),
  mtu: restart(1500),
  read_only: restart(false),
  pool_pauses_when_cordoned: live(true),
  pool_period: live('2m'),
  ip_pool_sync_period: live(said('pool_period is ours')),
  cloud_period: live('2m'),
  describe_period: live('1s'),
  attach_timeout: live('1m'),
  settle_timeout: live('30s'),
  detach_timeout: live('1m'),
  call_timeout: restart('20s'),
  backoff: live('500ms'),
  backoff_max: live('30s'),
  gc_period: live('5m'),
  gc_grace: live(said('as gc_period')),
  gc_timeout: live('1m'),
  kernel_period: live('1m'),
  kernel_gather: live('500ms'),
  repair_wait: live('1s'),
  repair_wait_max: live('5m'),
  leftover_grace: live('15s'),
  full_node: live('taint'),
  full_node_hold: live('1m'),
  enable_patch_pod_ips: live(true),
  address_resource: live(''),
  eni_device_plugin: restart(false),
  disable_device_plugin: restart(false),
  event_after: live('10s'),
  node_period: live('5m'),
  node_write_interval: live('5s'),
  waiting_max: live(1_000),
  inputs_max: restart(4_096),
  debug_commands: live(true),
  rate_limit: live({}),
  service_cidr: live(said('not told to plugins')),
  eni_link_kinds: restart(['device']),
  reply_paths: restart(true),
  block_pod_metadata: restart(false),
  eniip_virtual_type: restart('Veth'),
  host_stack_cidrs: restart(['169.254.20.10/32']),
  daemon_mode: restart('ENIMultiIP'),
  pod_range: restart(said('none, and daemon_mode VPC needs one')),
  speed: restart(1),
  log_level: live('info'),
} as const satisfies Readonly<Record<string, ConfigKey>>;

export type KeyName = keyof typeof configKeys;

export const keyNames = Object.keys(configKeys) as readonly KeyName[];

export const isKeyName = (name: string): name is KeyName => Object.hasOwn(configKeys, name);
