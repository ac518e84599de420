/** The compiled plugin as a runtime starts it: a process inside a namespace that plays the host, environment and stdin given. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { cannotMakeNamespaces, TestNamespace } from '../adapters/netlink/namespaces.ts';
import { ENI_TABLE, FakeDaemon } from './fake-daemon.ts';

/** What was built, or another build that is to be tried. */
export const PLUGIN = process.env.ENACTOR_CNI ?? join(import.meta.dirname, '../../dist/enactor-cni');

/** Why the plugin cannot be tried, or false. */
export function cannotRunPlugin(): string | false {
  if (!existsSync(PLUGIN)) return `NOT RUN: ${PLUGIN} is not built (npm run build)`;
  return cannotMakeNamespaces();
}

/** A host whose daemon has set up the ENI that FakeDaemon hands out addresses of: its device and its table. */
export function hostWithEni(t: ConstructorParameters<typeof TestNamespace>[0]): TestNamespace {
  const host = new TestNamespace(t, 'host');
  host.ip('link', 'add', 'eth1', 'type', 'veth', 'peer', 'name', 'eth1far');
  for (const device of ['eth1', 'eth1far']) host.ip('link', 'set', device, 'up');
  leadOut(host, 'eth1');
  return host;
}

/** The default routes in the table of an ENI. */
export function leadOut(host: TestNamespace, device: string, table = ENI_TABLE): void {
  for (const family of ['-4', '-6']) host.ip(family, 'route', 'replace', 'default', 'dev', device, 'table', `${table}`);
}

export type Ran = {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The one JSON document on stdout; throws when there is not exactly one. */
  readonly json: () => Record<string, unknown>;
};

export type Given = {
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string | Buffer;
  /** Shell redirections put behind the plugin, such as `<&-`. */
  readonly redirect?: string;
  /** Shell commands before the plugin, in a mount namespace of their own. */
  readonly before?: string;
  /** Called with the process id once it runs. */
  readonly started?: (pid: number) => void;
  /** Another plugin than ours. */
  readonly plugin?: string;
};

export function startPlugin(host: Pick<TestNamespace, 'path'> | null, given: Given): Promise<Ran> {
  const command = `${given.before === undefined ? '' : `${given.before} && `}exec "$0" ${given.redirect ?? ''}`;
  const inside = host === null ? [] : ['nsenter', `--net=${host.path}`];
  const mounts = given.before === undefined ? [] : ['unshare', '--mount'];
  const [program = '', ...args] = [...inside, ...mounts, '/bin/sh', '-c', command, given.plugin ?? PLUGIN];
  const child = spawn(program, args, { env: { PATH: process.env.PATH ?? '', ...given.env }, stdio: 'pipe' });
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => err.push(chunk));
  child.stdin.on('error', () => {}); // a plugin that does not read is allowed to
  child.stdin.end(given.stdin ?? '');
  if (child.pid !== undefined) given.started?.(child.pid);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => {
      const stdout = Buffer.concat(out).toString('utf8');
      const json = (): Record<string, unknown> => JSON.parse(stdout) as Record<string, unknown>;
      resolve({ exitCode, stdout, stderr: Buffer.concat(err).toString('utf8'), json });
    });
  });
}

export type Bench = {
  readonly daemon: FakeDaemon;
  readonly directory: string;
  readonly conf: (more?: object) => string;
  readonly env: (command: string, more?: Readonly<Record<string, string>>) => Record<string, string>;
};

/** A directory, a daemon that listens in it, and what a runtime would send; all gone when the test ends. */
export async function pluginBench(t: Pick<Test, 'teardown'>, pod: { readonly path: string } | null): Promise<Bench> {
  const directory = mkdtempSync(join(tmpdir(), 'enactor-plugin-'));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  const daemon = new FakeDaemon(join(directory, 'daemon.sock'));
  await daemon.listen();
  t.teardown(() => daemon.close());
  return {
    daemon,
    directory,
    conf: (more = {}) =>
      JSON.stringify({
        cniVersion: '1.0.0',
        name: 'podnet',
        type: 'enactor-cni',
        daemonSocket: daemon.socketPath,
        dataDir: directory,
        ...more,
      }),
    env: (command, more = {}) => ({
      CNI_COMMAND: command,
      CNI_CONTAINERID: 's1',
      CNI_NETNS: pod?.path ?? '',
      CNI_IFNAME: 'eth0',
      CNI_PATH: '/opt/cni/bin',
      CNI_ARGS: argsOf('web-0'),
      ...more,
    }),
  };
}

export function argsOf(pod: string, more = ''): string {
  return `IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=${pod}${more}`;
}
