/**
 * F2, B32: an ENI that is a network card and no veth, found by its MAC among others that have it too, and pods with ipvlan slaves of it, in a virtual
 * machine, since this machine's kernel may have neither. The daemon's hand and the plugin's are the product's own, compiled by Bun as the plugin is.
 * The table of all paths over ipvlan is f02-ipvlan-paths.long.ts.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { cannotBoot, runInVm } from './virtual-machine.ts';

t.setTimeout(180_000);
const programs = ['/usr/sbin/nft', '/bin/ip'];
const skip = cannotBoot(programs);

/** Whom the far end sees, in each family. */
const expected: Readonly<Record<string, readonly [string, string]>> = {
  'pod to pod, same ENI': ['192.168.0.10', 'fd00::10'],
  'pod to the VPC': ['192.168.0.10', 'fd00::10'],
  'VPC to pod': ['192.168.0.253', 'fd00::50'],
  'pod to its node': ['192.168.0.10', 'fd00::10'],
  'node to its pod': ['10.0.0.5', 'fd00:5::5'],
  'pod to ClusterIP': ['10.0.0.5', 'fd00:5::5'],
  'pod behind a pair to the VPC': ['192.168.0.12', 'fd00::12'],
  'pod behind a pair to ClusterIP': ['192.168.0.12', 'fd00::12'],
};

t.test('F2, B32, virtual machine: a card as the ENI, and pods with ipvlan slaves of it', { skip }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'enactor-scene-'));
  t.teardown(() => rmSync(dir, { recursive: true, force: true }));
  const scene = join(dir, 'scene');
  const compile = ['build', '--compile', '--minify', '--external', 'koffi', 'test/vm/eni-scene.ts', '--outfile', scene];
  execFileSync('node_modules/.bin/bun', compile, { stdio: 'ignore' });
  const printed = await runInVm({
    modules: [
      'crc32c_generic',
      'veth',
      'dummy',
      'bridge',
      'ipvlan',
      'e1000',
      'nft_ct',
      'nft_chain_nat',
      'nft_masq',
      'nft_nat',
    ],
    programs: [...programs, scene],
    nics: ['00:16:3e:00:00:07', '00:16:3e:00:00:99'],
    script: readFileSync(new URL('eni-scene.sh', import.meta.url), 'utf8'),
    timeoutMs: 170_000,
  });
  const seen = new Map(
    printed.split('\n').map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)] as const),
  );
  t.match(seen.get('eni veth'), /AbortError/, 'eni_link_kinds tells what may be an ENI: a card is no veth');
  t.equal(seen.get('eni device'), 'eth0 1500', 'found by its MAC, not the bridge that has it too');
  for (const pod of ['p ipvlan 192.168.0.10 fd00::10', 'q ipvlan 192.168.0.11 fd00::11'])
    t.equal(seen.get(`pod ${pod}`), 'as wanted the ENI’s MAC');
  t.equal(seen.get('pod v veth 192.168.0.12 fd00::12'), 'as wanted a MAC of its own');
  t.equal(seen.get('check p ipvlan 192.168.0.10 fd00::10'), 'whole');
  t.match(seen.get('device p'), /ipvlan +mode l2/);
  t.equal(seen.get('tentative'), '0', 'no address is tentative when ADD returns');
  for (const [path, sources] of Object.entries(expected))
    for (const [at, family] of [4, 6].entries())
      t.equal(seen.get(`IPv${family} ${path}`), sources[at], `IPv${family} ${path}`);
  t.equal(seen.get('del p 192.168.0.10 fd00::10'), 'gone');
  t.equal(seen.get('left of p'), '0 0', 'neither slave nor pair');
  t.equal(seen.get('check q ipvlan 192.168.0.11 fd00::11'), 'whole');
  if (!t.passing()) t.comment(printed);
});
