/**
 * Whether the plugin runs on a host: it is run there, as a runtime would, and asked for the versions it knows. That asks the host's loader, C library, kernel
 * and machine at once, of which a list of version numbers would only tell what somebody thought of.
 */
import { spawnSync } from 'node:child_process';

const TIMEOUT_MS = 20_000;
const ASKED = JSON.stringify({ cniVersion: '1.0.0' });

/** null when it answered, else what came of it, in a sentence. `root`: the host's root where it is mounted, `path` being as it is there. */
export function whyPluginFails(path: string, root: string | null): string | null {
  const [program = '', ...args] = root === null ? [path] : ['chroot', root, path];
  const ran = spawnSync(program, args, {
    ...{ input: ASKED, encoding: 'utf8', timeout: TIMEOUT_MS },
    env: { PATH: process.env.PATH ?? '', CNI_COMMAND: 'VERSION' },
  });
  const where = root === null ? '' : ` in ${root}`;
  if (ran.error !== undefined) return `${path}${where} cannot be run: ${ran.error.message}`;
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
