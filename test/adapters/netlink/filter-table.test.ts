/** What this kernel's nf_tables takes is asked of it, and nothing of the question stays. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { test } from 'tap';
import { HostView } from '../../../src/adapters/datapath/host-view.ts';
import { NodeFilter } from '../../../src/adapters/datapath/node-filter.ts';
import { lackingChains } from '../../../src/adapters/netlink/filter-table.ts';
import type { Libc } from '../../../src/adapters/netlink/libc.ts';
import { Netlink } from '../../../src/adapters/netlink/netlink.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from './namespaces.ts';

const skip = cannotMakeNamespaces();
const NFT = '/usr/sbin/nft';
const EPROTONOSUPPORT = 93;
const NETLINK_NETFILTER = 12;
const withoutNft: Libc = {
  ...libc,
  socket: (domain, type, protocol) =>
    protocol === NETLINK_NETFILTER ? -EPROTONOSUPPORT : libc.socket(domain, type, protocol),
};

test('filter: the kernel is asked which chains it takes, and none of it stays', { skip }, async (t) => {
  const host = new TestNamespace(t, 'host');
  t.strictSame(
    host.run(() => lackingChains(libc)),
    [],
    'a kernel of today takes them all',
  );
  if (existsSync(NFT)) t.equal(execFileSync('ip', ['netns', 'exec', host.name, NFT, 'list', 'ruleset']).toString(), '');
  else t.comment(`NOT LOOKED AT: needs ${NFT}`);
  t.strictSame(lackingChains(withoutNft), ['filter', 'nat', 'route']);
  const foreign: Libc = {
    ...libc,
    sendto: (fd, bytes, address) => libc.sendto(fd, renamed(Buffer.from(bytes)), address),
  };
  t.strictSame(
    host.run(() => lackingChains(foreign)),
    ['route'],
    'one that does not know a kind',
  );
});

/** As if the kernel knew no chains of kind `route`. */
function renamed(bytes: Buffer): Buffer {
  const at = bytes.indexOf('route\0');
  if (at >= 0) bytes.write('rouxe', at);
  return bytes;
}

test('filter: what the kernel does not take the table goes without, since all of it would be refused', {
  skip,
}, (t) => {
  const host = new TestNamespace(t, 'host');
  host.ip('link', 'add', 'eth0', 'type', 'veth', 'peer', 'name', 'far');
  for (const name of ['eth0', 'far', 'lo']) host.ip('link', 'set', name, 'up');
  host.ip('route', 'add', 'default', 'dev', 'eth0');
  const netlink = host.run(() => new Netlink(libc));
  t.teardown(() => netlink.close());
  const chainsOf = (lacking: readonly ('filter' | 'nat' | 'route')[]) => {
    const filter = new NodeFilter(libc, [4], () => [...lacking]);
    filter.masqueradeServices();
    host.run(() => filter.fixes(new HostView(netlink), new Set()));
    return filter.table?.chains.map(({ name }) => name);
  };
  const all = ['reply-paths', 'masqueraded', 'from-pods', 'sent-by-ipvs', 'no-redirects', 'services'];
  t.strictSame(chainsOf([]), all);
  t.strictSame(
    chainsOf(['route', 'nat']),
    all.filter((name) => !['sent-by-ipvs', 'services'].includes(name)),
  );
  t.strictSame(chainsOf(['filter', 'nat', 'route']), all, 'without any nf_tables its lack is told by who installs it');
  t.end();
});
