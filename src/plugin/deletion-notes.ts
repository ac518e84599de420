/**
 * Notes for a daemon that cannot be told of a deletion now (src/core/pending-delete.ts).
 *
 * A note is whole or not there: written under a name the daemon does not read, synced, renamed, and the directory synced, so
 * that DEL may answer success. Its file is named by the sandbox: a repeated DEL writes the same one.
 */
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import {
  PENDING_DELETE_SUFFIX,
  PENDING_DELETES_DIRECTORY,
  PENDING_DELETES_MAX,
  type PendingDelete,
} from '../core/pending-delete.ts';
import { type Sandbox, sandboxKey } from '../core/sandbox.ts';
import { sha1Hex } from '../core/sha1.ts';
import { CNI_CODE, CniError } from './cni-error.ts';

type Key = Pick<Sandbox, 'containerId' | 'ifName'>;

/** Throws CniError 11 when the directory is full of notes or cannot be written. */
export function writeDeletionNote(dataDir: string, sandbox: Sandbox, atMs: number): void {
  const directory = `${dataDir}/${PENDING_DELETES_DIRECTORY}`;
  try {
    makeDirectory(directory);
    const name = fileName(sandbox);
    const notes = readdirSync(directory).filter((each) => each.endsWith(PENDING_DELETE_SUFFIX));
    if (notes.length >= PENDING_DELETES_MAX && !notes.includes(name)) {
      const text = `${notes.length} deletions wait for the daemon in ${directory}, the most that may`;
      throw new CniError(CNI_CODE.tryAgainLater, text);
    }
    writeWhole(directory, name, `${JSON.stringify(noteOf(sandbox, atMs))}\n`);
  } catch (error) {
    if (error instanceof CniError) throw error;
    const text = `cannot note the deletion in ${directory}: ${error instanceof Error ? error.message : error}`;
    throw new CniError(CNI_CODE.tryAgainLater, text, '', error);
  }
}

/** Of a read-only disk Node's own recursion says only that the directory is not there. */
function makeDirectory(directory: string): void {
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === 'ENOENT') mkdirSync(directory, { recursive: true, mode: 0o700 });
    else if (code !== 'EEXIST') throw error;
  }
}

/** Before an ADD of the same sandbox, whose new lease an old note would end. Nothing there is success; CniError 11 otherwise. */
export function dropDeletionNote(dataDir: string, sandbox: Key): void {
  const path = `${dataDir}/${PENDING_DELETES_DIRECTORY}/${fileName(sandbox)}`;
  try {
    unlinkSync(path);
  } catch (error) {
    if (NOT_THERE.includes(String((error as { code?: unknown }).code))) return;
    const text = `cannot remove an old note: ${error instanceof Error ? error.message : error}`;
    throw new CniError(CNI_CODE.tryAgainLater, text, '', error);
  }
}

const NOT_THERE: readonly string[] = ['ENOENT', 'ENOTDIR'];

/** Container ids may be longer than a file name. */
function fileName(sandbox: Key): string {
  return `${sha1Hex(sandboxKey(sandbox))}${PENDING_DELETE_SUFFIX}`;
}

function noteOf(sandbox: Sandbox, atMs: number): PendingDelete {
  return {
    version: 1,
    containerId: sandbox.containerId,
    ifName: sandbox.ifName,
    network: sandbox.network,
    podNamespace: sandbox.pod.namespace,
    podName: sandbox.pod.name,
    podUid: sandbox.pod.uid,
    atMs,
  };
}

function writeWhole(directory: string, name: string, text: string): void {
  const unfinished = `${directory}/.${name}.${process.pid}`;
  try {
    const fd = openSync(unfinished, 'wx', 0o600);
    try {
      writeFileSync(fd, text);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(unfinished, `${directory}/${name}`);
  } catch (error) {
    rmSync(unfinished, { force: true });
    throw error;
  }
  const fd = openSync(directory, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
