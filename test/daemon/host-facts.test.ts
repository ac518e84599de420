/** What the machine is, is told at once, and what its kernel lacks once nobody waits for the daemon any more. */
import { setTimeout as sleep } from 'node:timers/promises';
import t from 'tap';
import type { LackingChain } from '../../src/core/host-needs.ts';
import { machineTold } from '../../src/daemon/host-facts.ts';

const AFTER_MS = 20;
const config = { daemonMode: 'ENIMultiIP', ipvlan: true, replyPaths: true } as const;

function told(kernel: string, lacking: readonly LackingChain[], end: AbortSignal = new AbortController().signal) {
  const warned: string[] = [];
  let asked = 0;
  const lackingChains = (): readonly LackingChain[] => {
    asked += 1;
    return lacking;
  };
  const log = { info() {}, warn: (_: object, says: string) => void warned.push(says) };
  const facts = { kernel, arch: 'x64', glibc: '2.36' };
  const machine = machineTold({ facts, config, lackingChains, log }, end, AFTER_MS);
  return { machine, warned, asked: () => asked };
}

t.test('machine: the kernel is asked a while after the start, and each thing is told once', async (t) => {
  const { machine, warned, asked } = told('5.4.0', ['nat', 'route']);
  t.equal(asked(), 0, 'nobody waits for it');
  t.match(machine().lacks, [/below 5.7/]);
  t.same(warned, machine().lacks);
  await sleep(3 * AFTER_MS);
  t.equal(asked(), 1);
  t.match(machine().lacks, [/below 5.7/, /no nat/, /no route chains/]);
  t.same(warned, machine().lacks, 'what was told at first is not told again');
});

t.test('machine: a daemon that has ended asks nobody', async (t) => {
  const { asked } = told('6.1.0', [], AbortSignal.abort());
  await sleep(3 * AFTER_MS);
  t.equal(asked(), 0);
});
