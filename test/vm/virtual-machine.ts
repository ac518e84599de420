/**
 * A virtual machine with Debian's kernel, for what the kernel of this machine lacks (IPVS, ipvlan, dummy): a small initramfs of busybox, a few
 * programs with their libraries, modules, and one script that is all that runs.
 *
 * Emulated (qemu's tcg), so that it needs no rights and no /dev/kvm; it boots in some seconds. What it needs is installed by .ci/packages.sh.
 */
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** Where .ci/vm-kernel.sh unpacks kernels: they are not this machine's, and nothing boots them. */
const KERNEL_ROOT = process.env.ENACTOR_VM_KERNEL ?? '/var/cache/enactor-vm';
/** Debian's of that release in place of the one of this machine's; the oldest that its archive has. */
export type OtherKernel = 'bullseye';
const rootOf = (kernel?: OtherKernel): string => (kernel === undefined ? KERNEL_ROOT : `${KERNEL_ROOT}-${kernel}`);
const QEMU = '/usr/bin/qemu-system-x86_64';
const BUSYBOX = '/bin/busybox';
const MEMORY_MIB = 512;
/** Beside a tree of files, which is in memory twice while it is unpacked. */
const MORE_MEMORY_MIB = 1_536;
const [BEGIN, END] = ['==begin==', '==end=='];

export type VmWanted = {
  /** Kernel modules, with those that they need. One that is part of the kernel is passed over. */
  readonly modules: readonly string[];
  /** Programs of this machine, by path. */
  readonly programs: readonly string[];
  /** Run by busybox's shell as the only thing there is; files that it wants by name. */
  readonly script: string;
  readonly files?: Readonly<Record<string, string>>;
  /** Files and directories of this machine, from where they are to where they are wanted; what is behind a link is copied. */
  readonly trees?: Readonly<Record<string, string>>;
  /** Other names of programs in /bin. */
  readonly links?: Readonly<Record<string, string>>;
  /** MACs of its network cards (Intel's e1000), all on one hub; `eth0` and so on in their order. */
  readonly nics?: readonly string[];
  readonly kernel?: OtherKernel;
  readonly timeoutMs: number;
};

/** False when a machine with these programs can be run, else the sentence that says what is missing. */
export function cannotBoot(programs: readonly string[], kernel?: OtherKernel): string | false {
  const missing = [QEMU, BUSYBOX, ...programs].filter((path) => !existsSync(path));
  if (kernelImage(kernel) === null) missing.push(`${rootOf(kernel)}/boot/vmlinuz-*`);
  return missing.length > 0 && `NOT RUN: a virtual machine needs ${missing.join(', ')}: npm run packages`;
}

/** What the script printed. Rejects when it did not come to its end in time, with the console's last lines. */
export async function runInVm(wanted: VmWanted): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'enactor-vm-'));
  try {
    const initramfs = makeInitramfs(dir, wanted);
    return await boot(initramfs, wanted, MEMORY_MIB + (wanted.trees === undefined ? 0 : MORE_MEMORY_MIB));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

function kernelImage(kernel?: OtherKernel): string | null {
  const boots = join(rootOf(kernel), 'boot');
  const name = existsSync(boots) ? readdirSync(boots).find((one) => one.startsWith('vmlinuz-')) : undefined;
  return name === undefined ? null : join(boots, name);
}

function makeInitramfs(
  dir: string,
  { modules, programs, script, files = {}, trees = {}, links = {}, kernel }: VmWanted,
): string {
  const root = join(dir, 'root');
  for (const each of ['bin', 'dev', 'proc', 'sys', 'run', 'tmp', 'modules'])
    mkdirSync(join(root, each), { recursive: true });
  copyFileSync(BUSYBOX, join(root, 'bin/busybox'));
  for (const program of programs) {
    copyFileSync(program, join(root, 'bin', basename(program)));
    for (const library of librariesOf(program)) copyInto(root, library);
  }
  for (const [from, to] of Object.entries(trees)) {
    mkdirSync(dirname(join(root, to)), { recursive: true });
    cpSync(from, join(root, to), { recursive: true, dereference: true });
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(root, 'bin', name));
  const loaded = inOrder(modules, join(rootOf(kernel), 'lib/modules'));
  for (const module of loaded) copyFileSync(module, join(root, 'modules', basename(module)));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, name), text);
  writeFileSync(join(root, 'script'), script);
  writeFileSync(join(root, 'init'), init(loaded.map((module) => basename(module))), { mode: 0o755 });
  chmodSync(join(root, 'init'), 0o755);
  const image = join(dir, 'initramfs');
  const names = execFileSync(BUSYBOX, ['find', '.'], { cwd: root });
  const archive = execFileSync(BUSYBOX, ['cpio', '-o', '-H', 'newc'], {
    cwd: root,
    input: names,
    maxBuffer: 1024 * 1024 * 1024,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  writeFileSync(image, archive);
  return image;
}

function init(modules: readonly string[]): string {
  return `#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /run
mount -t tmpfs tmp /tmp
${modules.map((name) => `insmod /modules/${name} || echo "no ${name}"`).join('\n')}
ip link set lo up
echo ${BEGIN}
sh /script 2>&1
echo ${END}
poweroff -f
`;
}

function copyInto(root: string, path: string): void {
  const to = join(root, path);
  if (existsSync(to)) return;
  mkdirSync(dirname(to), { recursive: true });
  copyFileSync(path, to);
}

/** As the loader finds them, itself among them. */
function librariesOf(program: string): string[] {
  const text = execFileSync('ldd', [program], { encoding: 'utf8' });
  return [...text.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path ?? '');
}

/** The files of these modules and of all that they need, each after those it needs. */
function inOrder(names: readonly string[], directory: string): string[] {
  const found = new Map<string, string>();
  for (const path of readdirSync(directory, { recursive: true, encoding: 'utf8' }))
    if (path.endsWith('.ko')) found.set(basename(path, '.ko').replaceAll('-', '_'), join(directory, path));
  const ordered = new Set<string>();
  const add = (name: string) => {
    const path = found.get(name.replaceAll('-', '_'));
    if (path === undefined || ordered.has(path)) return;
    const needs = /\0depends=([^\0]*)\0/.exec(readFileSync(path, 'latin1'))?.[1] ?? '';
    for (const need of needs.split(',')) if (need !== '') add(need);
    ordered.add(path);
  };
  for (const name of names) add(name);
  return [...ordered];
}

async function boot(
  initramfs: string,
  { timeoutMs, nics = [], kernel }: Pick<VmWanted, 'timeoutMs' | 'nics' | 'kernel'>,
  memoryMib: number,
): Promise<string> {
  const machine = spawn(
    QEMU,
    [
      ...['-accel', 'tcg', '-cpu', 'max', '-smp', '2', '-m', String(memoryMib), '-nographic', '-no-reboot'],
      ...(nics.length === 0 ? ['-nic', 'none'] : []),
      ...nics.flatMap((mac, at) => [
        ...['-netdev', `hubport,id=n${at},hubid=0`, '-device', `e1000,netdev=n${at},mac=${mac}`],
      ]),
      ...['-kernel', kernelImage(kernel) ?? '', '-initrd', initramfs, '-append', 'console=ttyS0 quiet panic=-1'],
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const timer = setTimeout(() => machine.kill('SIGKILL'), timeoutMs);
  let console = '';
  for (const stream of [machine.stdout, machine.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      console += text;
    });
  try {
    await new Promise((resolve, reject) => {
      machine.once('error', reject);
      machine.once('close', resolve);
    });
  } finally {
    clearTimeout(timer);
  }
  const [begin, end] = [console.indexOf(BEGIN), console.lastIndexOf(END)];
  if (begin < 0 || end < begin)
    throw new Error(`the virtual machine did not come to its end within ${timeoutMs} ms:\n${console.slice(-4_000)}`);
  return console
    .slice(begin + BEGIN.length, end)
    .replaceAll('\r', '')
    .trim();
}
