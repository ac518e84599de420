import { test } from 'tap';
import { deletePodRules } from '../../../src/adapters/datapath/pod-rules.ts';
import { Netlink } from '../../../src/adapters/netlink/netlink.ts';
import type { Rule } from '../../../src/adapters/netlink/rule.ts';
import { unruly } from '../../cases/unruly-libc.ts';
import { cannotMakeNamespaces, libc, TestNamespace } from '../netlink/namespaces.ts';

const skip = cannotMakeNamespaces();
const POD = '192.168.0.10';

/** Whose glance at the list passes everything over, as one may while others change theirs. */
class Blind extends Netlink {
  override rulesAtAGlance(): Rule[] {
    return [];
  }
}

const pair = [`rule add to ${POD} priority 512 table main`, `rule add from ${POD} priority 2048 table 1007`];

test('pod rules: all copies go by asking until nothing fits; of a long list behind them nothing is read', {
  skip,
}, (t) => {
  const host = new TestNamespace(t, 'host');
  const kernel = unruly(libc);
  const answersTo = (): number => {
    const before = host.ip('rule');
    host.batch([...pair, `rule add from ${POD} priority 2048 table 1008`]);
    host.run(() => {
      const netlink = new Netlink(kernel);
      kernel.begin(() => 'arrives');
      deletePodRules(netlink, [POD]);
      netlink.close();
    });
    t.equal(host.ip('rule'), before);
    return kernel.received;
  };
  const alone = answersTo();
  const foreign = Array.from({ length: 3_000 }, (_, at) => `from 10.8.${at >> 8}.${at & 255}`);
  host.batch(foreign.map((from) => `rule add ${from} priority 30000 table 98`));
  t.ok(answersTo() <= alone + 1, 'one datagram more at most, which begins behind our priorities');
  t.end();
});

test('pod rules: a stranger’s rule that the glance passed over and the kernel took for ours is put back as it was', {
  skip,
}, (t) => {
  const host = new TestNamespace(t, 'host');
  host.batch([
    `rule add from ${POD} fwmark 0x10/0xf0 iif lo ipproto udp dport 53 priority 2048 table 1050`,
    `rule add to ${POD} priority 512 table 99`,
  ]);
  const before = host.ip('rule');
  host.batch([...pair, ...pair.slice(1).map((line) => line.replace('1007', '1009'))]);
  host.run(() => {
    const netlink = new Blind(libc);
    deletePodRules(netlink, [POD]);
    netlink.close();
  });
  t.equal(host.ip('rule'), before, 'and ours are gone, all of them');
  t.end();
});
