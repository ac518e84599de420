/** A look at what changes without us: the other ENIs on the instance, and the addresses its vSwitches have left. Reads only. */
import { fromPromise } from 'xstate';
import { takesPlace } from '../src/core/managed-enis.ts';
import type { NodeFacts } from '../src/core/node-facts.ts';
import type { At } from '../statecharts/at.ts';
import type { Survey } from '../statecharts/eni-factory-context.ts';
import type { NodePorts } from './ports.ts';

type Hands = Pick<NodePorts, 'cloud' | 'clock' | 'log'> & { readonly facts: () => NodeFacts };
type Look = { readonly known: readonly string[]; readonly vSwitchIds: readonly string[] };

export function surveyLogic({ cloud, clock, log, facts }: Hands) {
  return fromPromise<At<Survey>, Look>(async ({ input, signal }) => {
    try {
      const [attached, vSwitches] = await Promise.all([
        cloud.describeEnis({ instanceId: facts().instanceId }, signal),
        cloud.vSwitches(input.vSwitchIds, signal),
      ]);
      const strangers = attached.filter((eni) => takesPlace(eni) && !input.known.includes(eni.eniId));
      const free = Object.fromEntries(vSwitches.map((one) => [one.vSwitchId, one.availableAddresses]));
      log.debug({ strangers: strangers.length, free }, 'instance and vSwitches looked at');
      return { atMs: clock.nowMs(), value: { strangers: strangers.map((eni) => eni.eniId), free } };
    } catch (error) {
      log.warn({ error: String(error) }, 'the instance could not be looked at');
      throw error;
    }
  });
}
