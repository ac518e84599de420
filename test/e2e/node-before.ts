/**
 * What a node is like before anything of Enactor was there, and what differs afterwards: files on its disk and in /run, and all that is in its network
 * namespace. A folder that the machine has too is none that was left.
 */
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf } from '../../.ci/image/oci-layout.ts';
import { differences, type HostSnapshot, snapshotNetns } from '../lab/host-snapshot.ts';
import type { ImageNode } from './image-node.ts';

/** Of the runtime, and of this test. */
const NOT_THE_NODES: ReadonlySet<string> = new Set(['/containerd', '/enactor', '/netns']);

export function nodeAsItIs(node: ImageNode): HostSnapshot {
  return {
    ...snapshotNetns(node.lab.guest.netns),
    disk: listed(node.disk.written),
    run: listed(join(node.root, 'run'), NOT_THE_NODES),
    // Names of namespaces, which cannot be read.
    netns: readdirSync(join(node.root, 'run/netns')),
  };
}

/** In words; empty when nothing does. */
export function whatIsLeft(before: HostSnapshot, node: ImageNode): readonly string[] {
  return differences(before, nodeAsItIs(node));
}

function listed(root: string, less: ReadonlySet<string> = new Set(), folder = ''): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (less.has(path)) return [];
    const here = join(root, path);
    if (entry.isDirectory()) return [...(isFolder(path) ? [] : [`${path}/`]), ...listed(root, less, path)];
    if (entry.isFile()) return [`${path} ${mode(here)} ${digestOf(readFileSync(here))}`];
    if (entry.isSymbolicLink()) return [`${path} -> ${readlinkSync(here)}`];
    return [entry.isCharacterDevice() ? `${path} was removed` : `${path} ${mode(here)} special`];
  });
}

const mode = (path: string): string => (lstatSync(path).mode & 0o7777).toString(8);
const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
