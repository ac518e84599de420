import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { type CniCall, callCni } from '../../../src/lab/kubelet/cni-runtime.ts';

/** A plugin as a shell script that is run where it is; the runtime’s own part needs no namespace. */
function runtime(t: Test, script: string): CniCall & { dir: string } {
  const dir = t.testdir({ conf: {}, bin: {} });
  mkdirSync(`${dir}/conf`, { recursive: true });
  mkdirSync(`${dir}/bin`, { recursive: true });
  writeFileSync(`${dir}/bin/fake`, `#!/bin/sh\n${script}\n`);
  chmodSync(`${dir}/bin/fake`, 0o755);
  const conf = { cniVersion: '1.0.0', name: 'net', plugins: [{ type: 'fake', mtu: 1400 }] };
  writeFileSync(`${dir}/conf/10-fake.conflist`, JSON.stringify(conf));
  const here = { command: (program: string, args: readonly string[]) => ({ command: program, args: [...args] }) };
  return {
    dir,
    verb: 'ADD',
    host: here as unknown as CniCall['host'], // a namespace has private state; only its command line is used here
    pluginDir: `${dir}/bin`,
    confDir: `${dir}/conf`,
    containerId: 'c1',
    netnsPath: '/netns',
    ifName: 'eth0',
    args: { IgnoreUnknown: '1', K8S_POD_NAME: 'web' },
    prevResult: null,
  };
}

const RESULT = '{"cniVersion":"1.0.0","ips":[{"address":"10.0.0.5/24"}]}';

t.test('cni runtime: the plugin gets the environment and its configuration, and its result comes back', async (t) => {
  const call = runtime(t, `cat > "$CNI_PATH/stdin"; env | grep ^CNI_ > "$CNI_PATH/env"; echo '${RESULT}'`);
  t.match(await callCni(call), { ips: [{ address: '10.0.0.5/24' }] });
  t.strictSame(JSON.parse(readFileSync(`${call.dir}/bin/stdin`, 'utf8')), {
    type: 'fake',
    mtu: 1400,
    name: 'net',
    cniVersion: '1.0.0',
  });
  const env = readFileSync(`${call.dir}/bin/env`, 'utf8');
  for (const line of ['CNI_COMMAND=ADD', 'CNI_CONTAINERID=c1', 'CNI_NETNS=/netns', 'CNI_IFNAME=eth0'])
    t.match(env, line);
  t.match(env, 'CNI_ARGS=IgnoreUnknown=1;K8S_POD_NAME=web');
});

t.test('cni runtime: DEL is handed the result of ADD', async (t) => {
  const call = runtime(t, 'cat > "$CNI_PATH/stdin"');
  const prevResult = JSON.parse(RESULT);
  t.equal(await callCni({ ...call, verb: 'DEL', prevResult }), null);
  t.match(JSON.parse(readFileSync(`${call.dir}/bin/stdin`, 'utf8')), { prevResult });
});

t.test('cni runtime: what the plugin says of its failure is what the caller gets', async (t) => {
  const said = runtime(
    t,
    `echo '{"cniVersion":"1.0.0","code":11,"msg":"try again later","details":"pool is empty"}'; exit 1`,
  );
  await t.rejects(callCni(said), { name: 'CniError', code: 11, message: 'try again later: pool is empty' });
  const silent = runtime(t, 'exit 3');
  await t.rejects(callCni(silent), { code: 0, message: 'fake ended with 3 and said nothing' });
  const nonsense = runtime(t, 'echo hello');
  await t.rejects(callCni(nonsense));
});

t.test('cni runtime: without a configuration it says what containerd says', async (t) => {
  const call = runtime(t, 'true');
  await t.rejects(callCni({ ...call, confDir: `${call.dir}/nowhere` }), { message: /no network config found/ });
});
