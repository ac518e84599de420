/** Which daemon a command is about: a socket, by default this node's, or a node of the lab that runs here. */
import { type Command, Option } from 'commander';
import type { RunningLab } from '../lab/control/find-lab.ts';
import type { NodeStatus } from '../lab/status/lab-status.ts';
import { debugSocketOption } from './command.ts';
import { CommandError, EXIT } from './exit-codes.ts';
import { asked, chosenLab, pidOption } from './which-lab.ts';

export type WhichLabNode = { readonly lab?: string; readonly pid?: number };
export type WhichNode = WhichLabNode & { readonly debugSocket: string };

/** Adds the options that `debugSocketOf` reads. */
export const withNode = (command: Command): Command =>
  withLabNode(command.addOption(debugSocketOption()), 'debugSocket');

/** Adds those that `labNodeOf` reads. @param instead the option that says the same of a node that is none of a lab */
export function withLabNode(command: Command, instead: string): Command {
  const lab = new Option('--lab <node>', 'a node of the lab that runs here, such as node-1').conflicts(instead);
  return command.addOption(lab).addOption(pidOption());
}

/** Rejects with CommandError when there is no such lab or node. */
export async function debugSocketOf({ debugSocket, ...which }: WhichNode): Promise<string> {
  const inLab = await labNodeOf(which);
  return inLab === null ? debugSocket : inLab.node.debugSocket;
}

/** null: no lab was named. Rejects as `debugSocketOf`. */
export async function labNodeOf({
  lab: name,
  pid,
}: WhichLabNode): Promise<{ lab: RunningLab; node: NodeStatus } | null> {
  if (name === undefined) {
    if (pid !== undefined)
      throw new CommandError(EXIT.usage, '--pid says which lab; --lab has to say which node of it');
    return null;
  }
  const lab = await chosenLab(pid);
  return { lab, node: await labNode(lab, name) };
}

/** Rejects with CommandError when the lab has no such node. */
export async function labNode(lab: RunningLab, name: string): Promise<NodeStatus> {
  const { nodes } = await asked(lab, (client) => client.status());
  const found = nodes.find((node) => node.name === name);
  const names = nodes.map((node) => node.name).join(', ');
  if (found === undefined) throw new CommandError(EXIT.failed, `the lab has no node ${name}; there are ${names}`);
  return found;
}
