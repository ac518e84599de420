/**
 * The lab runs in a box: mount, network and PID namespaces of its own, entered through util-linux `unshare`.
 *
 * The box makes clean-up a property of process death. Whatever happens to the lab, SIGKILL included, the kernel takes the
 * namespaces away with the last process: `--kill-child` ends the box's first process with `unshare`, `setpriv --pdeathsig` ends
 * `unshare` with the process that started it, and the first process takes the whole PID namespace along. Nothing of the lab is
 * ever made outside, so there is nothing to forget.
 *
 * Without root the same is done below a user namespace. Node cannot enter one itself (EINVAL with threads), hence the programs.
 * Source: unshare(1), setpriv(1), pid_namespaces(7), user_namespaces(7).
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Set for the processes in a box; the value is of no importance. */
export const BOX_VARIABLE = 'ENACTOR_BOX';

export type BoxCommand = { readonly command: string; readonly args: readonly string[]; readonly rootless: boolean };

/** This machine does not let us make namespaces; the message says what was tried and what would help. */
export class BoxError extends Error {
  override readonly name = 'BoxError';
}

const namespaces = ['--mount', '--net', '--pid', '--fork', '--kill-child', '--propagation', 'private'];
const asUser = ['--user', '--map-root-user'];

export function insideBox(): boolean {
  return process.env[BOX_VARIABLE] !== undefined;
}

/**
 * The prefix to put before a program so that it runs in a box. Tries as root first (when we are), then through a user
 * namespace. Throws BoxError when neither is allowed or util-linux is missing.
 */
export function boxCommand(): BoxCommand {
  const tries = process.getuid?.() === 0 ? [[], asUser] : [asUser];
  const failures: string[] = [];
  for (const extra of tries) {
    const args = ['--pdeathsig', 'KILL', '--', 'unshare', ...extra, ...namespaces, '--'];
    const failure = whyNot('setpriv', [...args, 'true']);
    if (failure === null) return { command: 'setpriv', args, rootless: extra.length > 0 };
    failures.push(`unshare ${[...extra, ...namespaces].join(' ')}: ${failure}`);
  }
  throw new BoxError(
    [
      'the lab needs namespaces of its own, and this machine refuses them:',
      ...failures.map((line) => `  ${line}`),
      advice(),
    ].join('\n'),
  );
}

function whyNot(command: string, args: readonly string[]): string | null {
  const result = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
  if (result.error) return `${command} cannot be run (${result.error.message}); it is part of util-linux`;
  if (result.status === 0) return null;
  return result.stderr.trim() || `ended with ${result.status ?? result.signal}`;
}

/** Names the switch that is off, where one can be read. */
function advice(): string {
  const switches = [
    ['kernel/unprivileged_userns_clone', '0', 'sysctl kernel.unprivileged_userns_clone=1'],
    ['kernel/apparmor_restrict_unprivileged_userns', '1', 'sysctl kernel.apparmor_restrict_unprivileged_userns=0'],
    ['user/max_user_namespaces', '0', 'sysctl user.max_user_namespaces=10000'],
  ] as const;
  for (const [name, off, remedy] of switches) {
    if (sysctl(name) === off)
      return `User namespaces are switched off here: run the lab as root, or allow them with \`${remedy}\`.`;
  }
  return 'Run it as root, or, in a container, with CAP_SYS_ADMIN and a seccomp profile that allows unshare(2) and mount(2).';
}

function sysctl(name: string): string | null {
  try {
    return readFileSync(`/proc/sys/${name}`, 'utf8').trim();
  } catch {
    return null;
  }
}
