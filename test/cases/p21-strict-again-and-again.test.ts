/**
 * P21: an agent that makes the reverse-path filters of our devices strict with each of its resyncs, every ten seconds, for an hour: the keeper's hands on
 * a real kernel, its ledger on a clock of the test's. They are mended, less and less often, told once and once more as contested, and mended at once
 * again after the agent has left them in peace.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'tap';
import { defaultKeeperSettings } from '../../src/core/keeper-settings.ts';
import { heldOff, noted, type RepairLedger, type RepairNews } from '../../src/core/repair-ledger.ts';
import { cannotMakeNamespaces, libc } from '../adapters/netlink/namespaces.ts';
import { SharedHost } from './shared-host.ts';

const skip = cannotMakeNamespaces();
const MINUTE_MS = 60_000;
const RESYNC_MS = 10_000;
const { kernelPeriodMs, repairWaitMs, repairWaitMaxMs, leftoverGraceMs } = defaultKeeperSettings;
const times = { repairWaitMs, repairWaitMaxMs, periodMs: kernelPeriodMs, patienceMs: leftoverGraceMs };

test('P21: strict filters again and again: repaired ever less often, told twice, and never in a loop', {
  skip,
}, async (t) => {
  const host = await SharedHost.make(t, libc);
  const pod = host.pod(t, 10);
  const hostName = host.attach(pod);
  const path = (device: string) => `/proc/sys/net/ipv4/conf/${device}/rp_filter`;
  const write = (device: string, value: string) => host.netns.run(() => writeFileSync(path(device), value));
  const read = (device: string) => host.netns.run(() => readFileSync(path(device), 'utf8').trim());
  write('all', '1'); // a strict host: only loose on the device wins over it
  await host.keep([pod]);
  t.strictSame(
    [read('eth1'), read(hostName), read('all')],
    ['2', '2', '1'],
    'ours are loose, the host’s own is its own',
  );

  let ledger: RepairLedger = [];
  const news: RepairNews[] = [];
  const repairedAtMs: number[] = [];
  const look = async (nowMs: number) => {
    const keys = heldOff(ledger, nowMs).filter(({ untilMs }) => untilMs > nowMs);
    const { drifts } = await host.keep([pod], [], new Set(keys.map(({ key }) => key)));
    const strange = drifts.filter(({ object }) => object !== path(hostName) && object !== path('eth1'));
    if (strange.length > 0) t.strictSame(strange, [], 'nothing else is found');
    for (const { object, outcome } of drifts)
      if (object === path(hostName) && outcome === 'repaired') repairedAtMs.push(nowMs);
    const next = noted(ledger, drifts, nowMs, times);
    ledger = next.ledger;
    news.push(...next.news);
  };

  // The keeper looks thoroughly each period, and when what was held off may be touched; the agent resyncs all the while.
  const sinceMs = 1_000_000;
  const HOUR_MS = 60 * MINUTE_MS;
  for (let ms = 0; ms < HOUR_MS; ms += RESYNC_MS) {
    for (const device of ['eth1', hostName]) write(device, '1');
    if (
      ms % kernelPeriodMs === 0 ||
      ledger.some((entry) => entry.outcome === 'heldOff' && entry.untilMs <= sinceMs + ms)
    )
      await look(sinceMs + ms);
  }
  const gaps = repairedAtMs.slice(1).map((at, index) => at - (repairedAtMs[index] ?? 0));
  t.ok(repairedAtMs.length >= 5, `repaired ${repairedAtMs.length} times in an hour`);
  t.ok(
    repairedAtMs.length <= 25,
    `and not each of ${HOUR_MS / RESYNC_MS} times that it was undone: ${repairedAtMs.length}`,
  );
  t.strictSame(
    gaps,
    [...gaps].sort((a, b) => a - b),
    `the waits grow: ${gaps.map((gap) => gap / 1_000)} s`,
  );
  t.ok((gaps.at(-1) ?? 0) >= repairWaitMaxMs, 'up to the longest wait');
  for (const device of ['eth1', hostName]) {
    const about = news.filter(({ object }) => object === path(device));
    t.strictSame(
      about.map(({ contested }) => contested),
      [false, true],
      `${device}: told once, and once as contested`,
    );
  }

  // It goes; the next thing that anybody does is mended at once.
  const laterMs = sinceMs + 10 * HOUR_MS;
  await look(laterMs);
  t.strictSame([read('eth1'), read(hostName)], ['2', '2']);
  await look(laterMs + 20 * repairWaitMaxMs);
  write(hostName, '1');
  await look(laterMs + 40 * repairWaitMaxMs);
  t.equal(read(hostName), '2', 'after a long peace');
  t.equal(ledger.find(({ object }) => object === path(hostName))?.undone, 0, 'and forgiven');
});
