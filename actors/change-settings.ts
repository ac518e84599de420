/** Another configuration for a node that runs: what the cloud says of it is looked up first, and only then everybody is told. */
import { EnactorError } from '../src/core/errors.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import type { Settings } from '../src/core/settings.ts';
import { instanceFacts } from './identify.ts';
import type { NodePorts } from './ports.ts';

/** Of what the facts are reckoned. */
const shaping = ({ vSwitchIds, securityGroupIds, maxEnis, eniCapRatio, eniCapShift, ipStack }: Settings): string =>
  JSON.stringify([vSwitchIds, securityGroupIds, maxEnis, eniCapRatio, eniCapShift, ipStack]);

/**
 * The facts that go with `after`. The cloud is asked only when the change is about them, so that water marks can be changed also while it
 * is away. Rejects with EnactorError: `invalidArgument` when the settings do not fit this instance, else what kept them from being looked up.
 */
export async function factsAfter(
  ports: NodePorts,
  facts: NodeFacts,
  before: Settings,
  after: Settings,
  signal: AbortSignal,
): Promise<NodeFacts> {
  if (shaping(before) === shaping(after)) return facts;
  return await factsAnew(ports, facts, after, signal);
}

/** What the cloud says now, of settings that may be the same. Rejects with EnactorError as `factsAfter`. */
export async function factsAnew(
  ports: NodePorts,
  facts: NodeFacts,
  after: Settings,
  signal: AbortSignal,
): Promise<NodeFacts> {
  const { facts: found } = await instanceFacts(ports, after, signal);
  if (found.instanceId !== facts.instanceId)
    throw new EnactorError('metadata', `this was ${facts.instanceId} and is said to be ${found.instanceId}`);
  return { ...found, seed: facts.seed };
}
