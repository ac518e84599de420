/** What operators may tell a node: messages to its keepers, which enter as any input does, so that the journal has them. */
import { EnactorError } from '../src/core/errors.ts';
import type { NodeCommand } from '../src/ports/introspection.ts';
import type { NodeRef } from '../statecharts/node.ts';
import { cloudKeeperIn, garbageCollectorIn, kernelKeeperIn } from '../statecharts/receptionist.ts';

/** Throws EnactorError `notReady` while those who would be told are not there. */
export function commandIn({ system }: NodeRef, command: NodeCommand, atMs: number): void {
  const told = command === 'gc' ? [garbageCollectorIn(system)] : [cloudKeeperIn(system), kernelKeeperIn(system)];
  const there = told.filter((keeper) => keeper !== undefined);
  if (there.length < told.length) throw new EnactorError('notReady', 'the node does not serve yet');
  for (const keeper of there) keeper.send({ type: 'lookNow', atMs });
}
