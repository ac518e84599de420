/**
 * A list in which Debian's `tuning`, `bandwidth` and `portmap` come after ours, run as libcni does: each gets the result of the one before, CHECK and DEL get the last
 * one, and DEL goes backwards.
 */
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'tap';
import { TestNamespace } from '../adapters/netlink/namespaces.ts';
import { cannotRunPlugin, hostWithEni, PLUGIN, pluginBench, startPlugin } from './plugin-process.ts';

const DIRECTORY = '/usr/lib/cni';
const NAMES = ['tuning', 'bandwidth', 'portmap'] as const;
const absent = NAMES.filter((name) => !existsSync(`${DIRECTORY}/${name}`));
const skip = cannotRunPlugin() || (absent.length > 0 && `NOT RUN: ${absent.join(', ')} are not here: npm run packages`);

const MEGABIT = 1_000_000;
const OTHERS: Readonly<Record<(typeof NAMES)[number], object>> = {
  tuning: { sysctl: { 'net.ipv4.ip_default_ttl': '77' } },
  bandwidth: {
    capabilities: { bandwidth: true },
    runtimeConfig: {
      bandwidth: { ingressRate: MEGABIT, ingressBurst: MEGABIT, egressRate: MEGABIT, egressBurst: MEGABIT },
    },
  },
  portmap: {
    capabilities: { portMappings: true },
    runtimeConfig: { portMappings: [{ hostPort: 30_123, containerPort: 80, protocol: 'tcp' }] },
  },
};

for (const order of [NAMES, NAMES.toReversed()])
  test(`chained: ours, then ${order.join(', ')}`, { skip }, async (t) => {
    const [host, pod] = [hostWithEni(t), new TestNamespace(t, 'pod')];
    const { daemon, env, conf } = await pluginBench(t, pod);
    daemon.dual = true;
    const list = [{ type: 'enactor-cni', plugin: PLUGIN, more: {} }].concat(
      order.map((type) => ({ type, plugin: `${DIRECTORY}/${type}`, more: OTHERS[type] })),
    );
    const run = async (verb: string, { type, plugin, more }: (typeof list)[number], prevResult: unknown) => {
      const passed = prevResult === null ? {} : { prevResult };
      const ran = await startPlugin(host, { env: env(verb), stdin: conf({ type, ...more, ...passed }), plugin });
      t.equal(ran.exitCode, 0, `${verb} of ${type} ${ran.stdout}`);
      return ran;
    };
    const before = host.state();
    let result: unknown = null;
    for (const one of list) result = (await run('ADD', one, result)).json();
    t.match(
      result,
      { cniVersion: '1.0.0', ips: [{ address: /^192\.168\.0\.\d+\// }, { address: /^fd00::/ }] },
      'what the last one tells is ours',
    );
    t.equal(
      pod.run(() => readFileSync('/proc/sys/net/ipv4/ip_default_ttl', 'utf8').trim()),
      '77',
      'tuning has found the pod',
    );
    t.match(host.ip('-d', 'link'), /ifb/, 'bandwidth has found the host end');
    // Debian's portmap (1.1) looks for the rules of IPv4 among those of IPv6.
    for (const one of list) if (one.type !== 'portmap') await run('CHECK', one, result);
    for (const one of list.toReversed()) await run('DEL', one, result);
    for (const one of list.toReversed()) await run('DEL', one, result);
    t.equal(host.state(), before, 'nothing is left');
  });
