/**
 * The inner half of the box: a /proc of its own and a private tmpfs that holds everything the lab writes.
 *
 * The tmpfs covers a directory that every system has, so that none has to be made (and could be left) outside; from
 * outside its files are reached below `/proc/<hostPid>/root`.
 */
import { existsSync, mkdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { mount } from '../netns/libc.ts';
import { BoxError, insideBox } from './box-command.ts';

export type Box = {
  /** Where the lab keeps files, sockets and namespaces; short, since socket paths are bounded. */
  readonly runDir: string;
  /** This process in the PID namespace the box was started from. */
  readonly hostPid: number;
};

const TMPFS_OPTIONS = 'size=1g,mode=0755';
const places = ['/run', '/media', '/mnt', '/srv', '/opt'];
let prepared: Box | null = null;

/** Idempotent. Throws BoxError outside a box: the mounts would land on the host. */
export function prepareBox(): Box {
  if (prepared !== null) return prepared;
  if (!insideBox()) throw new BoxError('not inside a box: start this program through runInBox or boxCommand');
  // The host's procfs is still mounted here, and there "self" is our number outside.
  const hostPid = Number(readlinkSync('/proc/self'));
  try {
    mount('proc', '/proc', 'proc', '');
  } catch {
    // Forbidden where parts of /proc are masked (containers): then the host's stays, which merely shows more processes.
  }
  const place = freePlace();
  mount('tmpfs', place, 'tmpfs', TMPFS_OPTIONS);
  const runDir = `${place}/enactor`;
  mkdirSync(runDir);
  prepared = { runDir, hostPid };
  return prepared;
}

/** A directory to cover: nothing that this process still needs may be below it. */
function freePlace(): string {
  const needed = [
    process.execPath,
    process.cwd(),
    dirname(resolve(process.argv[1] ?? '.')),
    ...(process.env.PATH ?? '').split(':'),
    ...(process.env.TMPDIR === undefined ? [] : [process.env.TMPDIR]),
  ];
  const place = places.find(
    (candidate) =>
      existsSync(candidate) && !needed.some((path) => path === candidate || path.startsWith(`${candidate}/`)),
  );
  if (place === undefined) throw new BoxError(`none of ${places.join(', ')} can hold the lab's files`);
  return place;
}

/** Mount points at or below `directory`, innermost last. */
export function mountsBelow(directory: string): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point === directory || point.startsWith(`${directory}/`));
}
