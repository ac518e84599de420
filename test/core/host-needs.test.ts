/** What a host is refused for, and what it goes without. */
import t from 'tap';
import { type HostFacts, type HostWants, hostFindings, isBelow, type LackingChain } from '../../src/core/host-needs.ts';

const fine: HostFacts = { kernel: '5.10.134-16.al8.x86_64', arch: 'x64', glibc: '2.36' };
const veth: HostWants = { daemonMode: 'ENIMultiIP', ipvlan: false, replyPaths: true };

const said = (facts: Partial<HostFacts>, wants: Partial<HostWants> = {}, lacks: readonly LackingChain[] | null = []) =>
  hostFindings({ ...fine, ...facts }, { ...veth, ...wants }, lacks).map(({ is, says }) => `${is}: ${says}`);

t.test('host needs: versions are compared by number, and what is no number is below nothing', async (t) => {
  for (const [version, floor, below] of [
    ['4.17.19', '4.18', true],
    ['4.18.0-553.el8', '4.18', false],
    ['4.9.1', '4.18', true],
    ['10.1', '4.18', false],
    ['4', '4.18', false],
    ['5.7-rc1', '5.7', false],
    ['5.6.19', '5.7', true],
    ['unknown', '4.18', false],
  ] as const)
    t.equal(isBelow(version, floor), below, `${version} below ${floor}`);
});

t.test('host needs: below the floor, on another machine and without glibc the daemon does not start', async (t) => {
  t.strictSame(said({}), []);
  t.strictSame(said({ arch: 'arm64' }), []);
  t.strictSame(said({ kernel: '4.9.0-19-amd64' }), ['refused: the kernel is 4.9.0-19-amd64: 4.18 or later is needed']);
  t.match(said({ arch: 'riscv64' }), [/^refused: the machine is riscv64/]);
  t.match(said({ glibc: null }), [/^refused: the C library is not glibc/]);
});

t.test('host needs: what a kernel lacks counts where somebody wants it', async (t) => {
  const old = { kernel: '4.19.91-28.al7.x86_64' };
  t.strictSame(said(old), [], 'pods behind a pair work');
  t.match(said(old, { daemonMode: 'ENIOnly' }), [/^lacking: .* below 5\.7 pods with an ENI each reach no services/]);
  t.match(said(old, { ipvlan: true }), [/^lacking: .* pods with ipvlan reach no services/]);
  t.match(said({}, {}, ['route']), [/^lacking: .*IPVS/]);
  t.strictSame(said({}, { replyPaths: false }, ['route', 'nat']), []);
  t.match(said({}, { daemonMode: 'VPC' }, ['nat']), [/^lacking: .*not masqueraded outside of pod_range/]);
  t.match(said({}, { daemonMode: 'ENIOnly' }, ['nat']), [/^lacking: .*pods reach no services/]);
  t.match(said({}, {}, ['filter', 'nat', 'route']), [/^lacking: the kernel has no nf_tables: requests that come in/]);
  t.strictSame(said({}, { replyPaths: false }, ['filter']), [], 'nobody needs it');
});
