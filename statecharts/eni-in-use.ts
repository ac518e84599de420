/**
 * An ENI that is here: looking → resting | assigning | unassigning → looking; backingOff, turnedAway, unplugged and confirming when something is not as
 * it should be.
 *
 * A pod may have the ENI for itself (own-eni.ts): its device is in the pod then, and nobody else is served until the address is given
 * back and the device is on the host again, which is `settling` once more.
 *
 * `looking` is where every call ends and the next one begins: what is wanted is looked at anew each time.
 */
import { and, assign } from 'xstate';
import { leaving, left, rested } from '../src/core/address-book.ts';
import type { CloudEni } from '../src/core/eni.ts';
import type { EniPhase } from '../src/core/eni-summary.ts';
import { failureOf } from '../src/core/errors.ts';
import { mayHaveHappened } from '../src/core/intent.ts';
import { halvesLeaving, leftIpv6 } from '../src/core/pairs.ts';
import type { At } from './at.ts';
import { assigning } from './eni-assigning.ts';
import { deviceOf, looked, named, noIps, ownedBy } from './eni-calls.ts';
import { answered, type EniContext, shownThen } from './eni-context.ts';
import { backsOff, detached, full, lostDevice, noDevice, noteFailure, unknownToCloud, whyNot } from './eni-failures.ts';
import { differenceOf, evened, isUneven, nextToLeave, owning, strangeIn } from './eni-owned.ts';
import { eniSetup } from './eni-setup.ts';

const CONFIRM_TRIES = 3;

type Look = { readonly context: EniContext; readonly event: { readonly output: At<CloudEni | null> } };

/** The book follows what a look has shown. */
const followLook = [
  {
    type: 'tellStrange',
    params: ({ context, event }: Look) => strangeIn(context, shownThen(context, event.output) ?? noIps),
  },
  {
    type: 'tellArrived',
    params: ({ context, event }: Look) => ({
      ips: strangeIn(context, shownThen(context, event.output) ?? noIps).unknown,
      atMs: event.output.atMs,
    }),
  },
  {
    type: 'follow',
    params: ({ context, event }: Look) => ({
      ips: shownThen(context, event.output) ?? noIps,
      atMs: event.output.atMs,
    }),
  },
] as const;

export const inUse = eniSetup.createStateConfig({
  initial: 'looking',
  on: {
    freed: { guard: 'endsOwn', target: '#eni.settling', actions: ['putToRest', 'deviceReturns', 'armRest'] },
    withdraw: { guard: 'endsOwn', target: '#eni.settling', actions: ['takeBack', 'deviceReturns', 'armRest'] },
    assign: [
      { guard: and(['takesMore', 'canOfferAll']), target: '.looking', actions: ['hear', 'offerAll'] },
      { guard: 'canOffer', actions: ['hear', 'offer', 'report'] },
      { guard: and(['takesMore', 'atRest']), target: '.looking', actions: ['hear', 'queueUp'] },
    ],
    // A call is under way: when it is over the cloud is asked.
    unplugged: { guard: 'hadDevice', actions: lostDevice },
  },
  states: {
    // Looks at what is wanted and makes the one call that helps.
    looking: {
      entry: [
        { type: 'phase', params: ({ context }) => ({ phase: pluggedOr('ready', context) }) },
        // Rests go on, and end, while an ENI is on its way here, too.
        assign(({ context }) => ({
          suspicion: null,
          shownAgoMs: 0,
          arriving: 0,
          ...owning(context, rested(context.book, context.nowMs), context.nowMs),
        })),
        'armRest',
        'serve',
      ],
      always: [
        { guard: 'isAway', target: '#eni.settling', actions: 'deviceReturns' },
        { guard: 'isUnplugged', target: 'confirming', actions: 'report' },
        // An Unassign that fails and fails keeps nobody from addresses; its intent stays beside the others.
        { guard: 'wantsAddresses', target: 'assigning' },
        { guard: 'wantsFewer', target: 'unassigning' },
        { target: 'resting' },
      ],
    },
    resting: {
      // What is still wanted is more than the ENI may own.
      entry: { type: 'giveBack', params: ({ context }) => ({ failure: full(context) }) },
      on: {
        unplugged: { guard: 'hadDevice', target: 'confirming', actions: lostDevice },
        grow: { target: 'looking', actions: ['hear', 'growMore'] },
        shed: {
          target: 'looking',
          guard: 'ours',
          actions: [
            'hear',
            assign(({ context, event }) =>
              halvesLeaving({ ...context, book: leaving(context.book, event.count) }, event.atMs),
            ),
          ],
        },
        drain: { target: '#eni.draining', guard: and(['ours', 'unused']), actions: 'hear' },
      },
      initial: 'quiet',
      states: {
        quiet: { after: { comparing: 'comparing' } },
        // Others may change what we own. Describe may be late: only what it says twice, with no call of ours between, is true.
        comparing: {
          invoke: {
            src: 'describeEni',
            input: ({ context }) => ({ ...looked(context), known: ownedBy(context) }),
            onDone: [
              {
                guard: ({ context, event }) =>
                  differenceOf(context, shownThen(context, event.output)) === null &&
                  isUneven(context, event.output.atMs),
                target: '#eni.inUse.looking',
                actions: assign(({ context, event }) => evened(context, event.output.atMs)),
              },
              {
                guard: ({ context, event }) => {
                  const difference = differenceOf(context, shownThen(context, event.output));
                  return difference === null || difference !== context.suspicion;
                },
                target: 'quiet',
                actions: assign(({ context, event }) => ({
                  suspicion: differenceOf(context, shownThen(context, event.output)),
                  shownAgoMs: event.output.atMs - (event.output.askedMs ?? event.output.atMs),
                })),
              },
              { target: '#eni.inUse.confirming' },
            ],
            onError: 'quiet',
          },
        },
      },
    },
    assigning,
    unassigning: {
      entry: 'report',
      on: {
        freed: { guard: 'endsOwn', actions: ['putToRest', 'deviceReturnsLater', 'armRest', 'report'] },
        withdraw: { guard: 'endsOwn', actions: ['takeBack', 'deviceReturnsLater', 'armRest', 'report'] },
      },
      invoke: {
        src: 'unassignIps',
        input: ({ context }) => ({ ...named(context), ...nextToLeave(context) }),
        onDone: {
          target: 'looking',
          actions: [
            assign(({ context, event }) => {
              const { family, ips } = nextToLeave(context);
              const own = family === 6 ? leftIpv6(context, ips) : { book: left(context.book, ips) };
              const { atMs } = event.output;
              return { ...own, said: answered(context, ips, false, atMs), takingYet: false, nowMs: atMs };
            }),
            'succeeded',
          ],
        },
        onError: {
          target: 'backingOff',
          actions: [
            noteFailure,
            assign(({ context, event }) => ({
              takingYet: context.takingYet || mayHaveHappened(failureOf(event.error)),
            })),
            // What keeps an address from going keeps no pod from one: others may be had here, or elsewhere.
            { type: 'phase', params: ({ context }) => ({ phase: pluggedOr('holding', context) }) },
            { type: 'giveBack', params: ({ context }) => ({ failure: backsOff(context) }) },
          ],
        },
      },
    },
    // A failed call may have done its work or part of it: the book follows the cloud before the next one.
    backingOff: {
      entry: [
        { type: 'phase', params: ({ context }) => ({ phase: pluggedOr('holding', context) }) },
        { type: 'giveBack', params: ({ context }) => ({ failure: whyNot(context) }) },
      ],
      on: { unplugged: { guard: 'hadDevice', target: 'confirming', actions: lostDevice } },
      after: { backoff: 'confirming' },
    },
    // The cloud has it here and the host has not, or not yet told: Describe is late, or somebody has taken the device alone.
    unplugged: {
      tags: 'alarm',
      entry: 'report',
      invoke: {
        src: 'setUpEni',
        input: ({ context }) => deviceOf(context),
        onDone: {
          target: 'looking',
          actions: [{ type: 'plug', params: ({ event }) => event.output }, 'succeeded'],
        },
        onError: { actions: [noteFailure, 'report'] },
      },
      after: { backoff: 'confirming' },
    },
    confirming: {
      invoke: {
        src: 'describeEni',
        input: ({ context }) => looked(context),
        onDone: [
          {
            guard: and(['isUnplugged', ({ event }) => event.output.value?.status === 'InUse']),
            target: 'unplugged',
            actions: [...followLook, { type: 'failed', params: ({ context }) => ({ failure: noDevice(context) }) }],
          },
          {
            guard: ({ event }) => event.output.value?.status === 'InUse',
            target: 'looking',
            actions: followLook,
          },
          // Somebody detached it. It is attached again for those who hold its addresses, else it goes.
          {
            guard: and([({ event }) => event.output.value !== null, 'unused']),
            target: '#eni.detaching',
            actions: { type: 'failed', params: ({ context }) => ({ failure: detached(context) }) },
          },
          {
            guard: and([({ event }) => event.output.value !== null, 'ours']),
            target: '#eni.attaching.describing',
            actions: [
              { type: 'failed', params: ({ context }) => ({ failure: detached(context) }) },
              assign({ device: null }),
              { type: 'phase', params: { phase: 'opening' } },
              { type: 'giveBack', params: ({ context }) => ({ failure: detached(context) }) },
            ],
          },
          {
            guard: ({ event }) => event.output.value !== null,
            target: 'backingOff',
            actions: [
              { type: 'failed', params: ({ context }) => ({ failure: detached(context) }) },
              assign({ device: null }),
            ],
          },
          {
            guard: and(['unused', { type: 'tried', params: { times: CONFIRM_TRIES } }]),
            target: '#eni.detaching',
          },
          // The cloud does not know it: nothing on it may be promised, and what is held is invalid.
          {
            target: 'backingOff',
            actions: [
              { type: 'follow', params: ({ event }) => ({ ips: noIps, atMs: event.output.atMs }) },
              { type: 'failed', params: ({ context }) => ({ failure: unknownToCloud(context) }) },
            ],
          },
        ],
        onError: {
          target: 'backingOff',
          actions: noteFailure,
        },
      },
    },
  },
});

/** Without its device it serves nobody. */
const pluggedOr = (phase: EniPhase, { device }: EniContext): EniPhase => (device === null ? 'faulty' : phase);
