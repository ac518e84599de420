/**
 * The outer half of the box: starts a program in it and stays until it ends.
 *
 * Ctrl-C reaches the program by itself, as all share the terminal's process group; a signal sent to this process alone is passed on
 * over Node's IPC channel, since `unshare` keeps such signals to itself. When this process dies the channel closes, and the
 * kernel ends the box.
 */
import { spawn } from 'node:child_process';
import { BOX_VARIABLE, boxCommand } from './box-command.ts';

/** Sent to the program in the box: end in an orderly way, as if Ctrl-C had been pressed. */
export type StopMessage = { readonly type: 'stop'; readonly signal: string };

const passedOn = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs `argv` (program and arguments) in a box and resolves with its exit code. Throws BoxError when no box can be had. */
export async function runInBox(argv: readonly string[]): Promise<number> {
  const box = boxCommand();
  const child = spawn(box.command, [...box.args, ...argv], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    env: { ...process.env, [BOX_VARIABLE]: box.rootless ? 'rootless' : 'root' },
  });
  const passOn = (signal: NodeJS.Signals) => {
    const message: StopMessage = { type: 'stop', signal };
    if (child.connected) child.send(message, () => {});
  };
  for (const signal of passedOn) process.on(signal, passOn);
  try {
    return await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (code, signal) => resolve(code ?? (signal === 'SIGINT' ? 130 : 1)));
    });
  } finally {
    for (const signal of passedOn) process.off(signal, passOn);
  }
}

/** The inner half of the same channel: calls `stop` once, when the outer process asks for the end or has gone. */
export function onStopRequest(stop: (why: string) => void): void {
  let asked = false;
  const once = (why: string) => {
    if (asked) return;
    asked = true;
    stop(why);
  };
  for (const signal of passedOn) process.on(signal, () => once(signal));
  process.on('message', (message) => {
    if (isStop(message)) once(message.signal);
  });
  process.on('disconnect', () => once('the process that started the lab has gone'));
  process.channel?.unref();
}

function isStop(message: unknown): message is StopMessage {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'stop';
}
