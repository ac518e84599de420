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
  'eni creating.inLine error awaitTurn 0: without action 1 report':
    'a turn is refused for what was forbidden a moment ago alone, so that the ENI is gone within the same step, and tells all there is as it goes',
  'eni inUse on assign 0: missing':
    'where all of an ENI may be offered nothing is on its way and nothing leaves, so that the pod waits in its line instead, and the look at its ' +
    'wants within the same step offers it all',
  'idlePool resting on poolChanged 0: missing':
    'it measures then, finds the same and rests: equal but for the time of the next look by its own clock, which begins anew',
  'idlePool resting on poolChanged 1: missing': 'the root of the chart hears it then, and does the same',
  'eni inUse.unplugged after backoff 0: to inUse.looking':
    'a look at its wants by an ENI without a device leads to confirming within the same step',
};

const NOT_REACHED = 'no seed that was walked (1 to 500, 2,000 steps) comes to this place in the state that it is for';
const NOT_NOTICED = 'reached by some seeds, and no rule of the simulation tells the difference';
const OWN_UNWRITTEN = `${NOT_REACHED}: a pod that has an ENI for itself, and whose lease cannot be written`;
const POOL_TOLD = `${NOT_REACHED}: settings that leave too many idle, while the pool rests after a failure`;

const UP_TO_200 = 'seeds 1 to 200';
const TURNS = `not reached by ${UP_TO_200}, and seen by test/statecharts/eni-in-line.test.ts`;

/** Survivors that could be told apart, as far as is known: with what was tried. They count as survivors. */
export const UNDECIDED: Readonly<Record<string, string>> = {
  'node running entry: without action 0 assign': `${NOT_NOTICED} up to 500: seed 1206 does, and the test of the chart`,
  'node running.degraded on forget 0: missing': `${NOT_REACHED}: a caller that leaves while pods are served from memory`,
  'node running.degraded on forget 0: without action 0 forward': 'as above',
  'cloudKeeper listing done listStrays 0: without guard seenBefore': `${NOT_NOTICED}: a stray that is there at two looks, between which the factory's own look has taken it over`,
  'eni (root) on unreserve 0: without action 2 serve': `${NOT_NOTICED}, perhaps since it needs somebody who waits at the very ENI whose reservation ends, and that the address has no rest before it`,
  'eni inUse on freed 0: without action 2 armRest': `${NOT_NOTICED}, perhaps since rests are armed again once the device is set up`,
  'eni inUse on withdraw 0: missing': OWN_UNWRITTEN,
  'eni inUse on withdraw 0: to inUse': OWN_UNWRITTEN,
  'eni inUse on withdraw 0: without action 0 takeBack': OWN_UNWRITTEN,
  'eni inUse on withdraw 0: without action 1 deviceReturns': OWN_UNWRITTEN,
  'eni inUse on withdraw 0: without action 2 armRest': OWN_UNWRITTEN,
  'eni inUse.assigning.completing always 0: without action 2 serve': `${NOT_NOTICED}, perhaps since whoever waits is served by the look at the ENI's wants that follows`,
  'eni inUse.confirming done describeEni 3: without action 3 giveBack': `${NOT_NOTICED}, perhaps since requests that stay with an ENI that is attached again are served there, only later`,
  'eni inUse.confirming done describeEni 4: without action 1 assign': `${NOT_NOTICED}: an ENI of others that was detached under pods of ours`,
  'eni inUse.looking always 0: missing': `${NOT_NOTICED}, by two seeds: a pod gives its ENI back while a call is under way on it`,
  'eni inUse.looking always 0: to inUse': 'as above',
  'eni inUse.unassigning on freed 0: without action 1 deviceReturnsLater': 'as at looking',
  'eni inUse.unassigning on withdraw 0: missing': OWN_UNWRITTEN,
  'eni inUse.unassigning on withdraw 0: without action 0 takeBack': OWN_UNWRITTEN,
  'eni inUse.unassigning on withdraw 0: without action 1 deviceReturnsLater': OWN_UNWRITTEN,
  'eni inUse.unassigning on withdraw 0: without action 2 armRest': OWN_UNWRITTEN,
  'eni inUse.unassigning on withdraw 0: without action 3 report': OWN_UNWRITTEN,
  'eni lost.waiting after lookAgain 0: to attaching': `${NOT_NOTICED}, by four seeds: attaching looks as well, and finds the ENI as it is`,
  'eni deleting.refused after backoff 0: to deleting.waiting': `${NOT_NOTICED}: waiting leads to a look too, a period later`,
  'eniFactory (root) entry: without action 2 armSurvey': `${NOT_NOTICED}: it needs a start beside ENIs of others after which nothing else leads to a look`,
  'eniFactory (root) on allocate 1: without guard anyIdle': `${NOT_NOTICED}, perhaps since a plan of each request comes to what one for all at the end of the step does`,
  'eniFactory (root) on allocate 1: without action 2 enqueueActions': `${NOT_NOTICED}, perhaps since the pool hears of those who wait at the next event of the factory`,
  'garbageCollector collecting error collect 0: missing': `${NOT_REACHED}: a record that cannot be struck out just then`,
  'garbageCollector collecting error collect 0: to resting': 'as above',
  'garbageCollector collecting error collect 0: without action 0 failed': 'as above',
  'idlePool filling after period 0: missing': `${NOT_REACHED}: a grow that is neither refused nor begun within a period`,
  'idlePool filling after period 0: to filling': 'as above',
  'idlePool backingOff on periodEnded 0: without action 0 note': `${NOT_NOTICED}, by three seeds: the mark is measured anew at the next event`,
  'idlePool backingOff on poolChanged 0: without action 1 arm': `${NOT_NOTICED}, by five seeds: measuring arms it again when the rest is over`,
  'idlePool backingOff on settings 0: missing': POOL_TOLD,
  'idlePool backingOff on settings 0: to filling': POOL_TOLD,
  'idlePool backingOff on settings 0: without action 0 note': POOL_TOLD,
  'idlePool backingOff on settings 0: without action 1 arm': POOL_TOLD,
  'idlePool backingOff on settings 1: without action 1 arm': `${NOT_NOTICED}, as after a change of the pool`,
  'kernelKeeper sweeping done sweep 0: missing': `${NOT_NOTICED}, perhaps since what changed during a look is swept at the next one`,
  'eni creating.inLine on assign 0: without guard function': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni creating.inLine on assign 0: missing': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni creating.inLine error awaitTurn 0: missing': `${NOT_REACHED}: a turn that is refused; the walks of the chart do`,
  'eni creating.inLine error awaitTurn 0: without action 0 failed': `${NOT_REACHED}: a turn that is refused; the walks of the chart do`,
  'eni creating.inLine error awaitTurn 0: to creating.backingOff': `${NOT_REACHED}: a turn that is refused; the walks of the chart do`,
  'eni creating.turnedAway after backoff 0: to creating.calling': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni creating.inLine on assign 0: to creating.calling': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni attaching.calling error attachEni 0: missing': `${TURNS}, or by two seeds`,
  'eni attaching.calling error attachEni 0: without action 1 assign': `${TURNS}, or by two seeds`,
  'eni attaching.calling error attachEni 0: to attaching.seeking': `${TURNS}, or by two seeds`,
  'eni attaching.calling error attachEni 1: to attaching.unanswered': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni attaching.turnedAway after backoff 0: without action 0 succeeded': `${TURNS}, or by two seeds`,
  'eni attaching.seeking error seekDevice 0: missing': `${NOT_REACHED}: a host that does not tell its devices; the walks of the chart do`,
  'eni attaching.seeking error seekDevice 0: to attaching.unanswered': `${NOT_REACHED}: a host that does not tell its devices; the walks of the chart do`,
  'eni attaching.unanswered after describePeriod 0: missing': `${TURNS}, or by two seeds`,
  'eni attaching.unanswered after describePeriod 0: without guard [looksFail, [hasHolders]]': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni attaching entry: without action 0 assign': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni attaching.unanswered after describePeriod 1: to attaching.backingOff': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni attaching.describing done describeEni 4: missing': `${TURNS}: an attach that takes longer than it may by two looks`,
  'eni attaching.describing done describeEni 4: to deleting': `${TURNS}: an attach that takes longer than it may by two looks`,
  'eni attaching.describing error describeEni 0: missing': `${TURNS}: a look that is turned away while an ENI is being attached`,
  'eni attaching.describing error describeEni 0: without action 0 failed': `${TURNS}: a look that is turned away while an ENI is being attached`,
  'eni attaching.describing error describeEni 0: without action 1 report': `${TURNS}: a look that is turned away while an ENI is being attached`,
  'eni attaching.describing error describeEni 0: to attaching.unanswered': `${TURNS}: a look that is turned away while an ENI is being attached`,
  'eni attaching.describing error describeEni 1: without action 1 notHere': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni attaching.describing error describeEni 0: without guard function': `${TURNS}: a look that is turned away while an ENI is being attached`,
  'eni inUse.assigning.inLine on cancel 0: missing': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni inUse.assigning.inLine on cancel 0: without guard function': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni inUse.assigning.inLine on unplugged 0: missing': `${TURNS}: a device that goes while an Assign waits for its turn`,
  'eni inUse.assigning.inLine on unplugged 0: without guard hadDevice': `${TURNS}: a device that goes while an Assign waits for its turn`,
  'eni inUse.assigning.inLine on unplugged 0: without action 0 tellUnplugged': `${TURNS}: a device that goes while an Assign waits for its turn`,
  'eni inUse.assigning.inLine on unplugged 0: without action 1 unplug': `${TURNS}: a device that goes while an Assign waits for its turn`,
  'eni inUse.assigning.inLine on unplugged 0: without action 2 phase': `${TURNS}: a device that goes while an Assign waits for its turn`,
  'eni inUse.assigning.inLine on unplugged 0: without action 3 giveBack': `${TURNS}: a device that goes while an Assign waits for its turn`,
  'eni inUse.assigning.inLine on unplugged 0: to inUse.looking': `${TURNS}: a device that goes while an Assign waits for its turn`,
  'eni inUse.assigning.inLine always 0: missing': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni inUse.assigning.inLine always 0: to inUse.resting': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni inUse.assigning.inLine error awaitTurn 0: missing': `${NOT_REACHED}: a turn that is refused; the walks of the chart do`,
  'eni inUse.assigning.inLine error awaitTurn 0: without action 0 failed': `${NOT_REACHED}: a turn that is refused; the walks of the chart do`,
  'eni inUse.assigning.inLine error awaitTurn 0: to inUse.unplugged': `${NOT_REACHED}: a turn that is refused; the walks of the chart do`,
  'eni inUse.assigning.turnedAway entry: without action 0 assign': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni inUse.assigning.turnedAway entry: without action 1 notSettled': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni inUse.assigning.turnedAway on cancel 0: missing': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni inUse.assigning.turnedAway on cancel 0: without guard function': `${TURNS}, or by two seeds`,
  'eni inUse.assigning.turnedAway on unplugged 0: without guard hadDevice': `${TURNS}, or by two seeds`,
  'eni inUse.assigning.turnedAway after backoff 0: to inUse.resting': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni inUse.assigning.inLine entry: without action 0 notSettled': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni inUse.unassigning error unassignIps 0: without action 3 giveBack': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
  'eni inUse.unassigning error unassignIps 0: without action 2 phase': `${NOT_NOTICED} (${UP_TO_200}); test/statecharts/eni-in-line.test.ts sees some`,
};
