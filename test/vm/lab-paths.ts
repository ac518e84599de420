/**
 * The whole lab, with the daemon, the plugin and kube-proxy's rules, in a virtual machine: `enactor lab paths`, which says itself whether each path is as it should
 * be. It takes minutes, since all of it is emulated.
 */
import { existsSync } from 'node:fs';
import { cannotBoot, type OtherKernel, runInVm } from './virtual-machine.ts';

const programs = ['/usr/bin/nsenter', '/usr/bin/unshare', '/usr/sbin/nft', '/usr/sbin/xtables-nft-multi', '/bin/ip'];
const [PORTMAP, XTABLES] = ['/usr/lib/cni/portmap', '/usr/lib/x86_64-linux-gnu/xtables'];
const DIST = [
  'enactor.js',
  'enactord.js',
  'enactord.cjs',
  'enactor-cni',
  'rpc.proto',
  'tracing.proto',
  'node.proto',
  'deviceplugin.proto',
];
/** What the bundles leave outside, with all that it needs. */
const PACKAGES = [
  ...[
    'level',
    'classic-level',
    'abstract-level',
    'browser-level',
    'level-supports',
    'level-transcoder',
    'module-error',
  ],
  ...['maybe-combine-errors', 'napi-macros', 'node-gyp-build', 'buffer', 'is-buffer', 'base64-js', 'ieee754'],
  ...['koffi', '@koromix/koffi-linux-x64'],
];
const MODULES =
  'crc32c_generic veth ipvlan dummy sch_tbf nft_counter nf_conntrack nf_conntrack_netlink nft_ct nft_chain_nat nft_masq nft_nat nft_compat nft_numgen nft_reject_inet ' +
  'nft_reject_ipv4 nft_reject_ipv6 nft_redir nft_fib_inet nft_fib_ipv4 nft_fib_ipv6 nft_hash nft_limit nft_objref xt_comment xt_conntrack xt_MASQUERADE ' +
  'xt_nat xt_mark xt_addrtype xt_statistic xt_tcpudp xt_multiport xt_recent ipt_REJECT ip6t_REJECT';
const TABLES = ['iptables', 'ip6tables', 'iptables-restore', 'ip6tables-restore', 'iptables-save', 'ip6tables-save'];

/** False when it can be run, else the sentence that says what is missing. */
export function cannotRunLab(more: readonly string[] = [], kernel?: OtherKernel): string | false {
  const missing = [PORTMAP, XTABLES, ...DIST.map((name) => `dist/${name}`)].filter((path) => !existsSync(path));
  const cannot = cannotBoot([...programs, ...more], kernel);
  return cannot || (missing.length > 0 && `NOT RUN: ${missing.join(', ')} is not here`);
}

export type LabPathsWanted = {
  /** Of `enactor lab paths`. */
  readonly args: string;
  /** Run before it. */
  readonly before?: string;
  /** Beside those of every lab. */
  readonly modules?: string;
  readonly programs?: readonly string[];
  readonly kernel?: OtherKernel;
  readonly timeoutMs: number;
};

/** What it printed, with `ended with` and its exit code as the last line. */
export function labPathsInVm(wanted: LabPathsWanted): Promise<string> {
  const { args, before = '', modules = '', programs: more = [], kernel, timeoutMs } = wanted;
  return runInVm({
    ...(kernel !== undefined && { kernel }),
    modules: `${MODULES} ${modules}`.trim().split(' '),
    programs: [process.execPath, ...programs, ...more],
    trees: {
      ...Object.fromEntries(DIST.map((name) => [`dist/${name}`, `app/dist/${name}`])),
      ...Object.fromEntries(PACKAGES.map((name) => [`node_modules/${name}`, `app/node_modules/${name}`])),
      [PORTMAP]: PORTMAP,
      [XTABLES]: XTABLES,
    },
    links: Object.fromEntries(TABLES.map((name) => [name, 'xtables-nft-multi'])),
    script: `export PATH=/bin ENACTOR_BOX=root HOME=/tmp
mkdir -p /media
cd /app
${before}
unshare --pid --fork node dist/enactor.js lab paths ${args} --patience 20
echo "ended with $?"`,
    timeoutMs,
  });
}

/** The table in what was printed. */
export function tableOf(printed: string): string {
  return printed.slice(printed.indexOf('| path |')).split('\n\n')[0] ?? '';
}
