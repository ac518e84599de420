/**
 * A real container runtime for one lab node: Debian's containerd inside the node's network namespace.
 *
 * It also gets a process and a mount namespace of its own, so that ending it ends its shims and containers and drops their
 * mounts whatever state they are in, and so that several of them do not share the folders that containerd, runc and libcni
 * hard-code. If the test process dies, the kernel ends all of it (parent-death signals).
 * Source: containerd 1.6 docs/cri/config.md; runtime/v2 shims keep sockets and runc's state below /run/containerd whatever
 * `state` says; libcni caches results in /var/lib/cni/results.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, open, readdir, readFile, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { BUSYBOX_IMAGE, BUSYBOX_PATH, busyboxImage } from './busybox-image.ts';
import { CriClient } from './cri-client.ts';
import { TEST_CGROUPS } from './left-behind.ts';
import type { NodeRoot } from './node-root.ts';

const START_TIMEOUT_MS = 20_000;
const NETWORK_TIMEOUT_MS = 30_000;
const IMPORT_TIMEOUT_MS = 120_000;
const STOP_TIMEOUT_MS = 5_000;
const LOG_TAIL_LINES = 40;
/** Debian's place for the reference plugins; containerd asks for `loopback` in every sandbox. */
export const DEBIAN_CNI_FOLDER = '/usr/lib/cni';
const PRIVATE_FOLDERS = ['/run/containerd', '/var/lib/cni/results'];

export type Containerd = {
  readonly cri: CriClient;
  /** Resolves when the runtime has read a CNI config; rejects when none came in time. */
  whenNetworkReady(): Promise<void>;
  /** Its number here; `/proc/<pid>/root` is the root that it has. */
  pid(): Promise<number>;
  /** Takes an OCI layout, a tar file whose path it sees, into its store. */
  importImage(tar: string): Promise<void>;
  /** The last lines of its log, for a failing test to print. */
  logTail(): Promise<string>;
  /** Removes every sandbox as the kubelet would, then ends the runtime and removes what it left. May be called again. */
  stop(): Promise<void>;
};

/** What a machine lacks for running containerd, in words; empty when it can. */
export function missingForContainerd(): readonly string[] {
  const files = ['/usr/bin/containerd', '/usr/sbin/runc', `${DEBIAN_CNI_FOLDER}/loopback`, BUSYBOX_PATH];
  const missing = files.filter((file) => !existsSync(file)).map((file) => `no ${file}`);
  // Root of a user namespace only (a box without root) may not make the devices and control groups that runc makes.
  const mapped = readFileSync('/proc/self/uid_map', 'utf8').trim().split(/\s+/).join(' ');
  if (process.getuid?.() !== 0 || mapped !== '0 0 4294967295') missing.push('not root');
  return missing;
}

/** Links plugins into a fresh folder for `bin_dir`: containerd looks in one place only. */
export async function linkPlugins(folder: string, plugins: readonly string[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const plugin of plugins) await symlink(plugin, join(folder, basename(plugin)));
}

export type ContainerdPlace = {
  readonly netns: string;
  readonly runDir: string;
  readonly cniBinDir: string;
  readonly cniConfDir: string;
  /** It runs in this root, `runDir` is in the root's folder, and the other paths are the root's; else it has this machine's. */
  readonly root?: NodeRoot;
};

function configText(place: ContainerdPlace): string {
  return `version = 2
root = "${place.runDir}/root"
state = "${place.runDir}/state"
oom_score = 0
[grpc]
  address = "${place.runDir}/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "${place.runDir}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${BUSYBOX_IMAGE}"
  # A sandbox asks for a lower OOM score than its parent's, which needs CAP_SYS_RESOURCE: not given everywhere.
  restrict_oom_score_adj = true
  disable_apparmor = true
  netns_mounts_under_state_dir = ${place.root === undefined}
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${place.cniBinDir}"
    conf_dir = "${place.cniConfDir}"
`;
}

/** Runs a command to its end; rejects with what it printed when it fails or takes too long. */
async function run(command: string, args: readonly string[], timeoutMs: number): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: timeoutMs });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
  const [code, signal] = await once(child, 'close');
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code ?? signal}: ${output.trim()}`);
}

/** The folders that get a private content must exist for that: users of each, and the topmost folder we had to make. */
const borrowed = new Map<string, { users: number; readonly made: string | undefined }>();

async function borrowFolder(folder: string): Promise<void> {
  const entry = borrowed.get(folder);
  if (entry) entry.users++;
  else borrowed.set(folder, { users: 1, made: await mkdir(folder, { recursive: true }) });
}

/** Removes, with the last user, what `borrowFolder` had made; what others have put there meanwhile stays. */
async function returnFolder(folder: string): Promise<void> {
  const entry = borrowed.get(folder);
  if (!entry || --entry.users > 0) return;
  borrowed.delete(folder);
  if (entry.made === undefined) return;
  for (let each = folder; each.startsWith(entry.made); each = dirname(each))
    if (
      !(await rmdir(each).then(
        () => true,
        () => false,
      ))
    )
      return;
}

async function childrenOf({ pid }: ChildProcess): Promise<readonly number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '');
  return children.trim().split(' ').filter(Boolean).map(Number);
}

/** containerd is the one child of `unshare`, which itself passes no signal on. */
async function terminate(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const ended = once(child, 'exit');
  for (const pid of await childrenOf(child)) process.kill(pid, 'SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await ended;
  clearTimeout(timer);
}

/** Removes a control group with all below it in every hierarchy, version 1 or 2; only empty ones can go. */
async function removeCgroups(name: string): Promise<void> {
  const removeTree = async (folder: string): Promise<void> => {
    const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
    for (const entry of entries) if (entry.isDirectory()) await removeTree(join(folder, entry.name));
    await rmdir(folder).catch(() => {});
  };
  const hierarchies = await readdir('/sys/fs/cgroup', { withFileTypes: true }).catch(() => []);
  await removeTree(join('/sys/fs/cgroup', name));
  for (const entry of hierarchies) if (entry.isDirectory()) await removeTree(join('/sys/fs/cgroup', entry.name, name));
}

/**
 * Starts containerd in the network namespace of file `netns` and imports the test image. `runDir` is made, used for all its
 * files and removed by `stop`; it must be short enough for a socket path.
 */
export async function startContainerd(place: ContainerdPlace): Promise<Containerd> {
  const { runDir, root } = place;
  const socketPath = `${runDir}/containerd.sock`;
  const logPath = `${runDir}/containerd.log`;
  const cgroup = `${TEST_CGROUPS}${randomBytes(4).toString('hex')}`;
  const privateFolders = (root === undefined ? PRIVATE_FOLDERS : []).map((folder, index) => ({
    folder,
    own: `${runDir}/private-${index}`,
  }));
  await mkdir(runDir, { recursive: true });
  for (const { folder, own } of privateFolders) {
    await mkdir(own, { recursive: true });
    await borrowFolder(folder);
  }
  if (root === undefined) await mkdir(place.cniConfDir, { recursive: true });
  await writeFile(`${runDir}/config.toml`, configText(place));

  const script = [
    ...(root?.enter() ?? []),
    ...privateFolders.map(({ folder, own }) => `mount --bind ${own} ${folder}`),
    `exec containerd --config ${runDir}/config.toml`,
  ].join(' && ');
  const log = await open(logPath, 'a');
  const child = spawn(
    'setpriv',
    [
      ...['--pdeathsig', 'KILL'],
      ...['nsenter', `--net=${place.netns}`],
      ...['unshare', '--pid', '--mount', '--propagation', 'private', '--fork', '--kill-child', '--mount-proc'],
      ...['sh', '-c', script],
    ],
    { stdio: ['ignore', log.fd, log.fd] },
  );
  await log.close();
  const failed = once(child, 'error').then(([error]) => error as Error);

  const cri = new CriClient(socketPath, `/${cgroup}`);
  let lastWords = '';
  const logTail = async () => {
    const log = await readFile(logPath, 'utf8').catch(() => lastWords);
    return log.trimEnd().split('\n').slice(-LOG_TAIL_LINES).join('\n');
  };

  const stopOnce = async () => {
    const problems: unknown[] = [];
    for (const id of await cri.listSandboxIds().catch(() => []))
      await cri.removePodSandbox(id).catch((error) => problems.push(error));
    cri.close();
    await terminate(child);
    lastWords = await logTail();
    await removeCgroups(cgroup);
    await rm(runDir, { recursive: true, force: true, maxRetries: 3 });
    for (const { folder } of privateFolders) await returnFolder(folder);
    if (problems.length > 0)
      throw new AggregateError(problems, `containerd: sandboxes could not be removed: ${problems}`);
  };
  let stopping: Promise<void> | undefined;
  const stop = () => {
    stopping ??= stopOnce();
    return stopping;
  };

  const until = async (what: string, timeoutMs: number, holds: () => Promise<boolean>) => {
    const endMs = Date.now() + timeoutMs;
    while (!(await holds().catch(() => false))) {
      const ended = child.exitCode ?? child.signalCode;
      if (ended !== null || Date.now() > endMs)
        throw new Error(
          `containerd: ${what} ${ended === null ? 'not in time' : `never: ended with ${ended}`}\n${await logTail()}`,
        );
      await sleep(50);
    }
  };

  const importImage = (tar: string) =>
    run('ctr', ['--address', socketPath, '--namespace', 'k8s.io', 'images', 'import', tar], IMPORT_TIMEOUT_MS);

  try {
    const imagePath = `${runDir}/busybox.tar`;
    await writeFile(imagePath, busyboxImage());
    const up = until('serving', START_TIMEOUT_MS, async () => (await cri.version()) !== '');
    await Promise.race([up, failed.then((error) => Promise.reject(error))]);
    await importImage(imagePath);
  } catch (error) {
    await stop().catch(() => {});
    throw error;
  }

  return {
    cri,
    whenNetworkReady: () =>
      until('network ready', NETWORK_TIMEOUT_MS, async () => (await cri.conditions()).get('NetworkReady') === true),
    pid: async () => {
      const [pid] = await childrenOf(child);
      if (pid === undefined) throw new Error(`containerd has ended\n${await logTail()}`);
      return pid;
    },
    importImage,
    logTail,
    stop,
  };
}
