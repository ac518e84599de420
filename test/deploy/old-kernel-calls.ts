/**
 * Programs as if the kernel were 4.18: system calls that came later answer ENOSYS, and so does the socket option that lets a dump be filtered (5.0), by a
 * seccomp filter that children inherit. What a later kernel does otherwise in a call of old stays as it is here.
 * Source: arch/x86/entry/syscalls/syscall_64.tbl: 334 (rseq) is the last of 4.18, 424 the first of 5.1; linux/netlink.h.
 */
import { spawn } from 'node:child_process';

/** Run by Node: puts the filter on itself and becomes the program. */
const BECOME = `
const koffi = require('koffi');
const libc = koffi.load('libc.so.6');
const [LD, JEQ, JGE, RET] = [0x20, 0x15, 0x35, 0x06];
const [ALLOW, ERRNO] = [0x7fff0000, 0x00050000];
const [ENOSYS, ENOPROTOOPT] = [38, 92];
const code = [
  [LD, 0, 0, 0],
  [JGE, 0, 1, 424],
  [RET, 0, 0, ERRNO | ENOSYS],
  [JEQ, 0, 5, 54], // setsockopt
  [LD, 0, 0, 24],
  [JEQ, 0, 3, 270], // SOL_NETLINK
  [LD, 0, 0, 32],
  [JEQ, 0, 1, 12], // NETLINK_GET_STRICT_CHK
  [RET, 0, 0, ERRNO | ENOPROTOOPT],
  [RET, 0, 0, ALLOW],
];
const filter = Buffer.alloc(code.length * 8);
for (const [at, [op, yes, no, value]] of code.entries()) {
  filter.writeUInt16LE(op, at * 8);
  filter.writeUInt8(yes, at * 8 + 2);
  filter.writeUInt8(no, at * 8 + 3);
  filter.writeUInt32LE(value >>> 0, at * 8 + 4);
}
koffi.struct('sock_fprog', { len: 'uint16_t', filter: 'uint8_t *' });
const prctl = libc.func('int prctl(int, unsigned long, unsigned long, unsigned long, unsigned long)');
const seccomp = libc.func('int prctl(int, unsigned long, sock_fprog *)');
const exec = libc.func('int execvp(const char *, char **)');
if (prctl(38, 1, 0, 0, 0) !== 0 || seccomp(22, 2, { len: code.length, filter }) !== 0) throw new Error('no seccomp here: errno ' + koffi.errno());
// Node marks those that it was given as closed on exec.
const fcntl = libc.func('int fcntl(int fd, int command, int flags)');
for (const fd of [0, 1, 2]) fcntl(fd, 2, 0);
const argv = process.argv.slice(1);
exec(argv[0], [...argv, null]);
throw new Error(argv[0] + ': errno ' + koffi.errno());
`;

export type Ran = { readonly exitCode: number | null; readonly output: string };

export function asOn418(command: readonly string[], env: NodeJS.ProcessEnv = process.env, input = ''): Promise<Ran> {
  const child = spawn(process.execPath, ['-e', BECOME, '--', ...command], { env, stdio: 'pipe' });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  child.stdin.on('error', () => {}); // who does not read is allowed to
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, output }));
  });
}
