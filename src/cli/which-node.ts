/** Which daemon a command is about: a socket, by default this node's, or a node of the lab that runs here. */
import type { Command } from 'commander';
import { ControlClient } from '../lab/control/control-client.ts';
import { findLabs } from '../lab/control/find-lab.ts';
import { debugSocketOption } from './command.ts';
import { CommandError, EXIT } from './exit-codes.ts';

export type WhichNode = { readonly debugSocket: string; readonly lab?: string };

/** Adds the options that `debugSocketOf` reads. */
export function withNode(command: Command): Command {
  return command
    .addOption(debugSocketOption())
    .option('--lab <node>', 'a node of the lab that runs here, such as node-1');
}

/** Rejects with CommandError when there is no such lab or node. */
export async function debugSocketOf({ debugSocket, lab: name }: WhichNode): Promise<string> {
  return name === undefined ? debugSocket : (await labNode(name)).debugSocket;
}

async function labNode(name: string) {
  const [lab] = findLabs();
  if (lab === undefined) throw new CommandError(EXIT.cannot, 'no lab of yours runs on this machine');
  const { nodes } = await new ControlClient(lab.socketPath).status();
  const found = nodes.find((node) => node.name === name);
  const names = nodes.map((node) => node.name).join(', ');
  if (found === undefined) throw new CommandError(EXIT.failed, `the lab has no node ${name}; there are ${names}`);
  return found;
}
