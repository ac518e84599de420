/**
 * Binding a unix socket so that what is not ours survives: only a socket file is replaced, and on closing the file is removed only
 * if it is still the one we made.
 *
 * The caller holds the node's locks, so a socket file found here is a dead daemon's. libuv unlinks a listening socket's path when
 * it closes, whoever made the file by then: in that case the handle is left to the end of the process instead.
 * Source: unix(7); libuv src/unix/pipe.c, uv__pipe_close.
 */
import { lstatSync } from 'node:fs';
import { lstat, mkdir, unlink } from 'node:fs/promises';
import type { Server, Socket } from 'node:net';
import { dirname } from 'node:path';
import { EnactorError } from '../../core/errors.ts';
import { socketPathProblem } from '../../core/limits.ts';

export type BoundSocket = {
  readonly path: string;
  /** Whether the file at the path is the one we bound. */
  stillOurs(): boolean;
  /**
   * Binds anew when the file is gone, its directory too; connections stay. True when it was. Rejects with EnactorError naming the path when
   * something else is there, or nothing can be made.
   */
  restore(): Promise<boolean>;
  /** Accepts nobody from now on; connections stay. Idempotent. */
  close(): void;
};

/** What `ls -l` would show is in the way, or null when the path is free or holds a socket. */
async function obstacle(path: string): Promise<'free' | 'socket' | string> {
  try {
    const found = await lstat(path);
    if (found.isSocket()) return 'socket';
    if (found.isDirectory()) return 'a directory';
    if (found.isSymbolicLink()) return 'a symbolic link';
    return found.isFile() ? 'a regular file' : 'no socket';
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return 'free';
    throw thrown;
  }
}

/**
 * Listens with mode 0600, making the directory if it is missing. Rejects with EnactorError `invalidArgument` naming the path, and
 * then nothing was deleted or created.
 */
export async function bindUnixSocket(server: Server, path: string): Promise<BoundSocket> {
  const problem = socketPathProblem(path);
  if (problem !== null) throw new EnactorError('invalidArgument', problem);
  const bind = async () => {
    try {
      await mkdir(dirname(path), { recursive: true });
      const found = await obstacle(path);
      if (found === 'socket') await unlink(path);
      else if (found !== 'free') throw new EnactorError('invalidArgument', `socket path ${path} is ${found}`);
      // Nobody can dial it any more. What libuv unlinks on closing is not there, and nothing was put in its place yet.
      if (server.listening) server.close();
      await listening(server, path);
    } catch (thrown) {
      if (thrown instanceof EnactorError) throw thrown;
      throw new EnactorError('invalidArgument', `cannot bind socket ${path}: ${(thrown as Error).message}`, thrown);
    }
    return lstatSync(path);
  };
  let made = await bind();
  let closed = false;
  const stillOurs = () => {
    const now = lstatSync(path, { throwIfNoEntry: false });
    return now !== undefined && now.ino === made.ino && now.dev === made.dev;
  };
  return {
    path,
    stillOurs,
    async restore() {
      if (closed || stillOurs()) return false;
      if (lstatSync(path, { throwIfNoEntry: false }) !== undefined)
        throw new EnactorError('internal', `socket ${path} was taken away: something else is in its place`);
      made = await bind();
      if (closed) server.close(); // told so meanwhile
      return true;
    },
    close() {
      if (closed) return;
      closed = true;
      if (stillOurs() || lstatSync(path, { throwIfNoEntry: false }) === undefined) {
        server.close();
        return;
      }
      server.prependListener('connection', (socket: Socket) => socket.destroy());
      server.unref();
    },
  };
}

/** Node binds within `listen`, so the mask covers just that; a chmod afterwards would leave a moment for strangers. */
function listening(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.once('listening', () => {
      server.off('error', reject);
      resolve();
    });
    const mask = process.umask(0o177);
    try {
      server.listen(path);
    } finally {
      process.umask(mask);
    }
  });
}
