import { type Failure, failureOf } from '../src/core/errors.ts';
import type { EniContext } from './eni-context.ts';

/** What every failed call leaves behind. */
export const noteFailure = {
  type: 'failed',
  params: ({ event }: { event: { error: unknown } }) => ({ failure: failureOf(event.error) }),
} as const;

export const whyNot = (context: EniContext): Failure =>
  context.lastFailure ?? { code: 'noCapacity', detail: `ENI ${context.eniId} takes no requests` };

export const backsOff = ({ eniId, lastFailure }: EniContext): Failure => ({
  code: 'noCapacity',
  detail: `ENI ${eniId} backs off after ${lastFailure?.detail ?? 'a failure'}`,
});

export const full = (context: EniContext): Failure => ({ code: 'noCapacity', detail: `ENI ${context.eniId} is full` });

export const noDevice = ({ mac, eniId }: EniContext): Failure => ({
  code: 'device',
  detail: `no device has the MAC ${mac} any more (${eniId})`,
});

export const deviceLate = ({ mac, times, eniId }: EniContext): Failure => ({
  code: 'device',
  detail: `no device with MAC ${mac} after ${times.settleTimeoutMs} ms (${eniId})`,
});

export const rolledBack = ({ eniId }: EniContext): Failure => ({
  code: 'cloud',
  detail: `${eniId} went back to Available while attaching`,
});

export const detached = ({ eniId }: EniContext): Failure => ({
  code: 'cloud',
  detail: `${eniId} is not attached here any more`,
});

export const stillThere = ({ eniId }: EniContext): Failure => ({
  code: 'cloud',
  detail: `${eniId} is Available, though its deletion was asked for`,
});

export const unknownToCloud = ({ eniId }: EniContext): Failure => ({
  code: 'cloud',
  detail: `the cloud does not know ${eniId}`,
});

/** The kernel is the quick witness: nothing more is promised here until the cloud has told what became of the ENI. */
export const lostDevice = [
  {
    type: 'tellUnplugged',
    params: ({ context: { eniId, mac } }: { context: EniContext }) => ({ eniId: eniId ?? '', mac: mac ?? '' }),
  },
  'unplug',
  { type: 'phase', params: { phase: 'faulty' } },
  { type: 'giveBack', params: ({ context }: { context: EniContext }) => ({ failure: noDevice(context) }) },
] as const;
