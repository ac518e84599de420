/** Asks for what a predecessor has written down, when there is something that only he can tell. What he cannot be asked is held back like any address of unknown pods. */
import { failureOf } from '../src/core/errors.ts';
import { podKey } from '../src/core/sandbox.ts';
import type { NodePorts } from './ports.ts';
import { type TakenOver, takeOver, type Witnessed } from './takeover.ts';

type Hands = Pick<NodePorts, 'predecessor' | 'log'>;

/** `whole`: our store holds all that it should, so that what is kept for pods is known from there. */
export async function inherit(
  { predecessor, log }: Hands,
  witnessed: Witnessed & { readonly whole: boolean },
  signal: AbortSignal,
): Promise<TakenOver> {
  const { whole, pods } = witnessed;
  const nothing: TakenOver = { pods, reservations: [] };
  if (predecessor === undefined || (whole && pods.every(({ sandbox }) => sandbox !== null))) return nothing;
  try {
    const inheritance = await predecessor.inheritance(signal);
    if (inheritance === null) return nothing;
    const taken = takeOver(inheritance, witnessed);
    const reservations = whole ? [] : taken.reservations;
    const theirs = taken.pods.filter(({ sandbox }, at) => sandbox !== null && pods[at]?.sandbox === null);
    const nameless = taken.pods.filter(({ sandbox }) => sandbox === null).map(({ device }) => device);
    log.info(
      { records: inheritance.records.length, pods: theirs.length, kept: reservations.length, nameless },
      'the records of the daemon before us are read',
    );
    for (const { pod } of reservations) log.info({ pod }, 'its address is kept for it, as the daemon before us did');
    for (const { sandbox, ips } of theirs)
      if (sandbox !== null) log.info({ pod: podKey(sandbox.pod), ips }, 'taken over from the daemon before us');
    return { pods: taken.pods, reservations };
  } catch (thrown) {
    if (signal.aborted) throw thrown;
    log.error(
      { failure: failureOf(thrown) },
      'the records of the daemon before us cannot be used: its pods’ addresses are held back',
    );
    return nothing;
  }
}
