/**
 * The table of paths over ipvlan (F2): the whole lab, with the daemon, the plugin and kube-proxy's rules, in a virtual machine, whose kernel has ipvlan. It
 * takes minutes, since all of it is emulated. `enactor lab paths --pods ipvlan` says itself whether each path is as it should be.
 */
import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import { tableIn } from '../../src/lab/checks/path-table.ts';
import { cannotBoot, runInVm } from './virtual-machine.ts';

t.setTimeout(900_000);
const programs = ['/usr/bin/nsenter', '/usr/bin/unshare', '/usr/sbin/nft', '/usr/sbin/xtables-nft-multi', '/bin/ip'];
const [PORTMAP, XTABLES] = ['/usr/lib/cni/portmap', '/usr/lib/x86_64-linux-gnu/xtables'];
const DIST = [
  'enactor.js',
  'enactord.js',
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
const missing = [PORTMAP, XTABLES, ...DIST.map((name) => `dist/${name}`)].filter((path) => !existsSync(path));
const skip = cannotBoot(programs) || (missing.length > 0 && `NOT RUN: ${missing.join(', ')} is not here`);
const MODULES =
  'crc32c_generic veth ipvlan dummy sch_tbf nf_conntrack nf_conntrack_netlink nft_ct nft_chain_nat nft_masq nft_nat nft_compat nft_numgen nft_reject_inet ' +
  'nft_reject_ipv4 nft_reject_ipv6 nft_redir nft_fib_inet nft_fib_ipv4 nft_fib_ipv6 nft_hash nft_limit nft_objref xt_comment xt_conntrack xt_MASQUERADE ' +
  'xt_nat xt_mark xt_addrtype xt_statistic xt_tcpudp xt_multiport xt_recent ipt_REJECT ip6t_REJECT';
const TABLES = ['iptables', 'ip6tables', 'iptables-restore', 'ip6tables-restore', 'iptables-save', 'ip6tables-save'];

t.test('F2, virtual machine: every path of pods with ipvlan is as it should be', { skip }, async (t) => {
  const printed = await runInVm({
    modules: MODULES.split(' '),
    programs: [process.execPath, ...programs],
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
unshare --pid --fork node dist/enactor.js lab paths --pods ipvlan --patience 6
echo "ended with $?"`,
    timeoutMs: 880_000,
  });
  t.comment(printed);
  t.match(printed, /^ended with 0$/m);
  t.match(printed, /^(\d+) of \1 paths are as they should be$/m);
  t.notMatch(printed, /the router refused/, 'no packet left by a wrong ENI');
  const table = printed.slice(printed.indexOf('| path |')).split('\n\n')[0];
  t.equal(table, tableIn(readFileSync('src/lab/checks/paths.md', 'utf8'), 'ipvlan'), 'paths.md has this table');
});
