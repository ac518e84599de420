/** An ENI on its way out: draining → detaching → deleting, or stuck. */
import { and, not } from 'xstate';
import { looked, named } from './eni-calls.ts';
import { noteFailure, stillThere, whyNot } from './eni-failures.ts';
import { eniSetup } from './eni-setup.ts';

export const draining = eniSetup.createStateConfig({
  entry: [
    { type: 'phase', params: { phase: 'leaving' } },
    { type: 'giveBack', params: ({ context }) => ({ failure: whyNot(context) }) },
  ],
  initial: 'calling',
  states: {
    calling: {
      invoke: {
        src: 'tearDownEni',
        input: ({ context }) => ({ mac: context.mac ?? '', routeTable: context.routeTable }),
        onDone: '#eni.detaching',
        onError: {
          target: 'backingOff',
          actions: [noteFailure, 'report'],
        },
      },
    },
    backingOff: { after: { backoff: 'calling' } },
  },
});

export const detaching = eniSetup.createStateConfig({
  entry: [
    { type: 'phase', params: { phase: 'leaving' } },
    { type: 'giveBack', params: ({ context }) => ({ failure: whyNot(context) }) },
  ],
  // An ENI of somebody else is only ever forgotten.
  always: { guard: not('ours'), target: 'gone' },
  after: { detachTimeout: 'stuck' },
  initial: 'describing',
  states: {
    describing: {
      invoke: {
        src: 'describeEni',
        input: ({ context }) => looked(context),
        onDone: [
          // It may be too new to be shown.
          { guard: and([({ event }) => event.output.value === null, 'unseen']), target: '#eni.gone' },
          { guard: ({ event }) => event.output.value === null, target: 'waiting', actions: 'notSeen' },
          { guard: ({ event }) => event.output.value?.status === 'Available', target: '#eni.deleting' },
          { guard: ({ event }) => event.output.value?.status === 'Deleting', target: '#eni.deleting' },
          { guard: ({ event }) => event.output.value?.status === 'CreateFailed', target: '#eni.deleting' },
          { guard: ({ event }) => event.output.value?.status === 'InUse', target: 'calling' },
          { target: 'waiting' },
        ],
        onError: {
          target: 'backingOff',
          actions: [noteFailure, 'report'],
        },
      },
    },
    calling: {
      invoke: {
        src: 'detachEni',
        input: ({ context }) => named(context),
        onDone: 'waiting',
        onError: {
          target: 'backingOff',
          actions: [noteFailure, 'report'],
        },
      },
    },
    waiting: { after: { describePeriod: 'describing' } },
    backingOff: { after: { backoff: 'describing' } },
  },
});

export const deleting = eniSetup.createStateConfig({
  after: { detachTimeout: 'stuck' },
  initial: 'calling',
  states: {
    calling: {
      invoke: {
        src: 'deleteEni',
        input: ({ context }) => named(context),
        onDone: 'waiting',
        onError: { target: 'refused', actions: noteFailure },
      },
    },
    // A refusal may know more than the look that led here: an attach that Describe was late about has it in use, and it is detached first.
    refused: { entry: 'report', after: { backoff: 'confirming' } },
    confirming: {
      invoke: {
        src: 'describeEni',
        input: ({ context }) => looked(context),
        onDone: [
          { guard: ({ event }) => event.output.value === null, target: '#eni.gone', actions: 'succeeded' },
          { guard: ({ event }) => event.output.value?.status === 'InUse', target: '#eni.detaching' },
          { target: 'calling' },
        ],
        onError: { target: 'refused', actions: noteFailure },
      },
    },
    waiting: { after: { describePeriod: 'describing' } },
    describing: {
      invoke: {
        src: 'describeEni',
        input: ({ context }) => looked(context),
        onDone: [
          { guard: ({ event }) => event.output.value === null, target: '#eni.gone', actions: 'succeeded' },
          {
            guard: ({ event }) => event.output.value?.status === 'Available',
            target: 'backingOff',
            actions: { type: 'failed', params: ({ context }) => ({ failure: stillThere(context) }) },
          },
          { target: 'waiting' },
        ],
        onError: { target: 'refused', actions: noteFailure },
      },
    },
    backingOff: { entry: 'report', after: { backoff: 'calling' } },
  },
});

/** The cloud does not let it go. It keeps its slot, since the cloud counts it too; someone may have to look. */
export const stuck = eniSetup.createStateConfig({
  tags: 'alarm',
  after: { longBackoff: 'detaching' },
});
