/**
 * Whether the plugin runs on a host: it is run there, as a runtime would, and asked for the versions it knows. That asks the host's loader, C library, kernel
 * and machine at once, of which a list of version numbers would only tell what somebody thought of.
 */
import { spawnSync } from 'node:child_process';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const TIMEOUT_MS = 20_000;
const ASKED = JSON.stringify({ cniVersion: '1.0.0' });

/** Run by a Node of its own: the image has no program `chroot`, and whoever goes into another root does not come back. Needs CAP_SYS_CHROOT. */
const CHROOTED = `
const koffi = require('koffi');
const { spawnSync } = require('node:child_process');
const [root, path, input] = process.argv.slice(1);
if (koffi.load('libc.so.6').func('int chroot(const char *)')(root) !== 0) {
  console.error('chroot to ' + root + ': errno ' + koffi.errno());
  process.exit(1);
}
process.chdir('/');
const ran = spawnSync(path, { input, encoding: 'utf8', timeout: ${TIMEOUT_MS} });
process.stdout.write(ran.stdout ?? '');
process.stderr.write(ran.error?.message ?? ran.stderr ?? '');
process.exitCode = ran.status ?? 1;
`;

/** null when it answered, else what came of it, in a sentence. `root`: the host's root where it is mounted, `path` being as it is there. */
export function whyPluginFails(path: string, root: string | null): string | null {
  const [program = '', ...args] = root === null ? [path] : [process.execPath, '--eval', CHROOTED, root, path, ASKED];
  const ran = spawnSync(program, args, {
    ...{ input: ASKED, encoding: 'utf8', timeout: TIMEOUT_MS },
    ...(root !== null && { cwd: dirname(fileURLToPath(import.meta.url)) }), // from where koffi is found
    env: { PATH: process.env.PATH ?? '', CNI_COMMAND: 'VERSION' },
  });
  const where = root === null ? '' : ` in ${root}`;
  // It may end before it has read its input, which says nothing of how.
  const { code } = (ran.error ?? {}) as NodeJS.ErrnoException;
  if (ran.error !== undefined && code !== 'EPIPE') return `${path}${where} cannot be run: ${ran.error.message}`;
  if (ran.status !== 0)
    return `${path}${where} does not run: ${lastLine(ran.stderr) ?? lastLine(ran.stdout) ?? endOf(ran)}`;
  return answers(ran.stdout) ? null : `${path}${where} answered no versions: ${lastLine(ran.stdout) ?? 'nothing'}`;
}

function answers(stdout: string): boolean {
  try {
    const { supportedVersions } = JSON.parse(stdout) as { supportedVersions?: unknown };
    return Array.isArray(supportedVersions) && supportedVersions.length > 0;
  } catch {
    return false;
  }
}

const endOf = ({ status, signal }: { status: number | null; signal: string | null }): string =>
  signal === null ? `exit code ${status}` : `ended by ${signal}`;

const lastLine = (text: string): string | null => text.trim().split('\n').at(-1)?.slice(0, 300) || null;
