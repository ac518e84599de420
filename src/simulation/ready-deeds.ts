/** Deeds that stories, straits and lines are made of. */
import type { Deed } from './deed.ts';

/** A state that is entered now and then whatever happens: what is laid there begins about now. */
export const ABOUT_NOW = 'kernelKeeper.resting';

export const ambush = (node: number, state: string, deeds: readonly Deed[], nth = 1): Deed => ({
  ...{ do: 'ambush', node, state },
  ...{ nth, deeds },
});

type Api =
  | 'CreateNetworkInterface'
  | 'AttachNetworkInterface'
  | 'DescribeNetworkInterfaces'
  | 'AssignPrivateIpAddresses'
  | 'UnassignPrivateIpAddresses';

/** The cloud refuses so many calls of the API, wherever they come from. */
export const refused = (api: Api, code: string, times: number, forMs = 20_000): Deed => ({
  do: 'callFault',
  fault: { api, times, params: {}, effect: 'fail', code, status: null, message: null },
  forMs,
});

/** Calls of the API are carried out, and their callers never hear of it. */
export const unanswered = (api: Api, times: number, forMs: number): Deed => ({
  do: 'callFault',
  fault: { api, times, params: {}, effect: 'drop', how: 'close' },
  forMs,
});

/** The next attach is accepted, and takes so long, or comes to nothing. */
export const attachTakes = (lastsMs: number, fails: boolean): Deed => ({
  do: 'callFault',
  fault: { api: 'AttachNetworkInterface', times: 1, params: {}, effect: 'transition', lastsMs, fails },
  forMs: 20_000,
});
