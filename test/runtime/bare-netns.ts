/** A network namespace with nothing in it but `lo`, held by one process that dies with the test. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const START_TIMEOUT_MS = 5_000;

export type BareNetns = { readonly path: string; remove(): Promise<void> };

export async function makeBareNetns(): Promise<BareNetns> {
  const holder = spawn('setpriv', ['--pdeathsig', 'KILL', 'unshare', '--net', 'sleep', 'infinity'], {
    stdio: 'ignore',
  });
  const path = `/proc/${holder.pid}/ns/net`;
  const remove = async () => {
    if (holder.exitCode !== null || holder.signalCode !== null) return;
    const ended = once(holder, 'exit');
    holder.kill('SIGKILL');
    await ended;
  };
  const ours = await readlink('/proc/self/ns/net');
  const endMs = Date.now() + START_TIMEOUT_MS;
  while ((await readlink(path).catch(() => ours)) === ours) {
    if (Date.now() > endMs) {
      await remove();
      throw new Error('no network namespace could be made in time');
    }
    await sleep(5);
  }
  return { path, remove };
}
