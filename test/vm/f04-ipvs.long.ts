/**
 * F4: kube-proxy in IPVS mode, in a virtual machine, since this machine's kernel has no IPVS. The node's filter table is the product's own, as
 * `nft` lists it; routes and rules of pods are the plugin's, written by hand. The router drops what leaves by the wrong ENI.
 */
import '../lab/in-box.ts';

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import t from 'tap';
import { podOriginChains } from '../../src/adapters/datapath/pod-origin.ts';
import { replyPathChains } from '../../src/adapters/datapath/reply-paths.ts';
import { installTable, removeTable } from '../../src/adapters/netlink/filter-table.ts';
import { openKoffiLibc } from '../../src/adapters/netlink/libc-koffi.ts';
import { tableIn } from '../../src/lab/checks/path-table.ts';
import { cannotBoot, runInVm } from './virtual-machine.ts';

t.setTimeout(235_000);
const programs = ['/usr/sbin/nft', '/usr/sbin/ipvsadm', '/bin/ip'];
const skip = cannotBoot(programs);

/** Who answers, and whom they see, in each family. */
const expected: Readonly<Record<string, string>> = {
  'pod to ClusterIP, backend elsewhere': 'b p',
  'pod to ClusterIP, backend on another ENI of the node': 'q p',
  'pod to itself through its ClusterIP': 'p node',
  'pod to external IP, Cluster, backend elsewhere': 'b node',
  'node to ClusterIP, backend elsewhere': 'b node',
  'outside to NodePort, Cluster, backend elsewhere': 'b node',
  'outside to NodePort, Cluster, backend on the node': 'p node',
  'outside to NodePort, Local, backend on the node': 'p client',
};
t.test('F4, virtual machine: what IPVS sends for pods leaves by their own ENI', { skip }, async (t) => {
  const libc = openKoffiLibc();
  installTable(libc, {
    name: 'enactor',
    comment: 'as the daemon writes it',
    chains: [...replyPathChains('eth0'), ...podOriginChains()],
  });
  const table = execFileSync('nft', ['list', 'table', 'inet', 'enactor'], { encoding: 'utf8' });
  removeTable(libc, 'enactor');
  const printed = await runInVm({
    modules: [
      'crc32c_generic',
      'veth',
      'dummy',
      'nft_ct',
      'nft_chain_nat',
      'nft_masq',
      'nft_counter',
      'ip_vs',
      'ip_vs_rr',
    ],
    programs,
    files: { 'enactor.nft': table },
    script: readFileSync(new URL('f04-scene.sh', import.meta.url), 'utf8'),
    timeoutMs: 215_000,
  });
  const seen = new Map(printed.split('\n').map((line) => line.split(': ') as [string, string]));
  for (const family of [4, 6]) {
    const first = (when: string) => seen.get(`IPv${family} ${when} our table pod to ClusterIP, backend elsewhere`);
    t.equal(first('without'), 'nobody', `IPv${family}: by destination alone it is lost`);
    t.equal(first('with'), 'b p', `IPv${family}: with our table it leaves by its own ENI`);
    for (const [path, who] of Object.entries(expected))
      t.equal(seen.get(`IPv${family} ${path}`), who, `IPv${family}: ${path}`);
  }
  t.match(seen.get('refused without our table'), /^[1-9]\d* 0 0 [1-9]\d* 0 0/, 'the node’s own ENI was the wrong one');
  t.match(seen.get('refused with our table'), /^0 0 0 0 0 0/, 'no packet left by a wrong ENI');
  const page = readFileSync('src/lab/checks/paths.md', 'utf8');
  t.equal(ipvsTable(seen), tableIn(page, 'ipvs'), 'paths.md has this table');
  if (!t.passing()) t.comment(printed);
});

/** As the table of paths has it: the source that the far end saw, `own` being the sender's. */
function ipvsTable(seen: ReadonlyMap<string, string>): string {
  const rows = Object.keys(expected).map((path) => {
    const asker = path.startsWith('pod') ? 'p' : path.startsWith('node') ? 'node' : 'client';
    const cells = [4, 6].map((family) => {
      const [, source = 'dropped'] = (seen.get(`IPv${family} ${path}`) ?? '').split(' ');
      return source === asker ? 'own' : source;
    });
    return [path, ...cells];
  });
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(['path', 'IPVS IPv4', 'IPVS IPv6']), line(['---', '---', '---']), ...rows.map(line)].join('\n');
}
