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

/** One Ctrl-C arrives twice: from the terminal, and from the outer process that got it too. */
const SAME_REQUEST_MS = 500;

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

/**
 * The inner half of the same channel: calls `stop` when the outer process asks for the end or has gone, and `force` when asked
 * again, by someone who does not want to wait.
 */
export function onStopRequest(stop: (why: string) => void, force: () => void): void {
  let asked: { readonly atMs: number } | null = null;
  const ask = (why: string) => {
    if (asked === null) {
      asked = { atMs: performance.now() };
      stop(why);
    } else if (performance.now() - asked.atMs > SAME_REQUEST_MS) {
      force();
    }
  };
  for (const signal of passedOn) process.on(signal, () => ask(signal));
  process.on('message', (message) => {
    if (isStop(message)) ask(message.signal);
  });
  process.on('disconnect', () => ask('the process that started the lab has gone'));
  process.channel?.unref();
}

function isStop(message: unknown): message is StopMessage {
  return typeof message === 'object' && message !== null && 'type' in message && message.type === 'stop';
}
