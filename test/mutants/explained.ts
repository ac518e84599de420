const AT_REST_ONLY =
  'unreachable: the factory sends it only to an ENI that rests by its report, and whatever it leaves that state by is reported within the same ' +
  'step, before anything else can be sent; it is there so that no order is ever lost uncounted, and the walk of the chart sends it everywhere';

/**
 * Mutants that nothing can tell from the chart they were made from, each with the reason. `npm run mutants` complains about one that does
 * not exist any more, and about one that is killed after all.
 */
export const EXPLAINED: Readonly<Record<string, string>> = {
  'lease opening on forget 0: without action 0 dropAsker':
    'the lease ends within the step, and an answer to somebody who has left reaches nobody; the test of the chart sees it',
  'eni (root) on shed 0: missing': AT_REST_ONLY,
  'eni (root) on shed 0: without action 0 hear': AT_REST_ONLY,
  'eni (root) on shed 0: without action 1 report': AT_REST_ONLY,
  'eni (root) on drain 0: missing': AT_REST_ONLY,
  'eni (root) on drain 0: without action 0 hear': AT_REST_ONLY,
  'eni (root) on drain 0: without action 1 report': AT_REST_ONLY,
  'eni inUse.resting on shed 0: without guard ours':
    'unreachable: the plan of what is shed leaves out ENIs that are not ours; the guard keeps that true whatever becomes of the plan',
  'eni inUse.resting on drain 0: without guard [ours, unused]':
    'unreachable: the plan drains only ENIs of ours that nobody uses, by reports that are never behind; the guard keeps that true',
  'eni (root) on assign 0: without action 3 declineOrWait':
    'unreachable: the factory hears of a phase that takes nothing before it can send again, and sends nothing there',
  'node running.degraded.quieting error quiet 0: missing':
    'the wait for quiet is a loop that cannot fail; its way out of a failure is there because every call has one',
  'node running.degraded.quieting error quiet 0: to remembering': 'as above: it cannot fail',
  'node running.degraded.quieting after quietMax 0: missing':
    'whoever cannot be served from memory is refused at once, so that writes alone are waited for: it is there for a disk that stalls for ' +
    'half of the time of a call, and then callers would miss their deadlines whatever the chart did',
  'node running.degraded.quieting after quietMax 0: to remembering':
    'as above: no disk of the simulation stalls for so long',
  'garbageCollector confirming error confirm 0: missing':
    'each question of the second look turns its own failure into an answer, so that the look as a whole cannot fail',
  'garbageCollector confirming error confirm 0: without action 0 failed': 'as above: it cannot fail',
  'garbageCollector confirming error confirm 0: to resting': 'as above: it cannot fail',
  'eni inUse.unplugged after backoff 0: to inUse.looking':
    'a look at its wants by an ENI without a device leads to confirming within the same step',
};

const NOT_REACHED = 'no seed that was walked (1 to 150, 2,000 steps) comes to this place in the state that it is for';
const NOT_NOTICED = 'reached by a handful of seeds, and no rule of the simulation tells the difference';

/** Survivors that could be told apart, as far as is known: with what was tried. They count as survivors. */
export const UNDECIDED: Readonly<Record<string, string>> = {
  'cloudKeeper listing done listStrays 0: without guard seenBefore': `${NOT_REACHED}: a stray that is there at two looks; between them the factory's own look has taken it over`,
  'eni (root) on unreserve 0: without action 2 serve': `${NOT_NOTICED}, perhaps since it needs somebody who waits at the very ENI whose reservation ends, and that the address has no rest before it`,
  'eni inUse.assigning.completing always 0: without action 1 serve': `${NOT_NOTICED}, perhaps since whoever waits is served by the look at the ENI's wants that follows`,
  'eni inUse.confirming done describeEni 3: without action 3 giveBack': `${NOT_NOTICED}, perhaps since requests that stay with an ENI that is attached again are served there, only later`,
  'eni inUse.confirming done describeEni 4: without action 1 assign': `${NOT_REACHED}: an ENI of others that was detached under pods of ours`,
  'eni lost.recalling done recall 1: without action 0 remember': `${NOT_REACHED}: one whose actor died and that the cloud has detached meanwhile`,
  'eni settling.calling after settleTimeout 0: missing': `${NOT_NOTICED}, perhaps since the call of the kernel ends by itself before it`,
  'eniFactory (root) entry: without action 2 armSurvey': `${NOT_REACHED}: a start beside ENIs of others after which nothing else leads to a look`,
  'eniFactory (root) on xstate.error.actor.survey 0: without action 1 plan': `${NOT_NOTICED}, perhaps since those who wait are judged at the next event of the factory`,
  'eniFactory (root) on xstate.error.actor.survey 0: without action 2 tellPool': `${NOT_NOTICED} within 150; seeds 630, 849 and 1341 did, before stories were woven into the seeds`,
  'garbageCollector collecting error collect 0: missing': `${NOT_REACHED}: a record that cannot be struck out just then`,
  'garbageCollector collecting error collect 0: to resting': 'as above',
  'garbageCollector collecting error collect 0: without action 0 failed': 'as above',
  'idlePool backingOff on growFailed 0: missing': `${NOT_REACHED}: a second failure while the pool rests after one`,
  'idlePool backingOff on poolChanged 0: without action 1 arm': `${NOT_REACHED}: a change of what is due while the pool rests after a failure`,
  'idlePool backingOff on settings 0: missing': `${NOT_REACHED}: settings that change while the pool rests after a failure`,
  'idlePool backingOff on settings 0: to filling': 'as above',
  'idlePool backingOff on settings 0: without action 0 note': 'as above',
  'idlePool backingOff on settings 0: without action 1 arm': 'as above',
  'idlePool backingOff on settings 1: without action 1 arm': 'as above',
  'kernelKeeper backingOff on lookNow 0: without action 0 beThorough': `${NOT_NOTICED}, perhaps since the look that an operator asked for is thorough all the same when its turn has come`,
};
