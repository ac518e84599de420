const AT_REST_ONLY =
  'unreachable: the factory sends it only to an ENI that rests by its report, and whatever it leaves that state by is reported within the same ' +
  'step, before anything else can be sent; it is there so that no order is ever lost uncounted, and the walk of the chart sends it everywhere';

const CALLED_OFF =
  'unreachable: what is called off says itself that nothing of it was asked, by reports that are never behind; the guard keeps that true, since ' +
  'the ENI would be forgotten otherwise';

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
  'eni creating.inLine on drain 0: without guard function': CALLED_OFF,
  'eni creating.turnedAway on drain 0: without guard function': CALLED_OFF,
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
const OWN_UNWRITTEN = `${NOT_REACHED}: a pod that has an ENI for itself, whose lease cannot be written while addresses are taken from the ENI yet`;
const LATE_ATTACH = `${NOT_REACHED}: an ENI that was let go of and is attached after all, as it is to be deleted`;
const ARMED_LATER = `${NOT_NOTICED}, perhaps since rests are armed again once the device is set up`;

/** Survivors that could be told apart, as far as is known: with what was tried. They count as survivors. */
export const UNDECIDED: Readonly<Record<string, string>> = {
  'eni (root) on unreserve 0: without action 2 serve': `${NOT_NOTICED}, perhaps since it needs somebody who waits at the very ENI whose reservation ends, and that the address has no rest before it`,
  'eni (root) on moved 0: without action 0 tellStrange': `${NOT_NOTICED}, by two seeds: something else is said within the same step`,
  'eni (root) on moved 0: without action 2 armRest': `${NOT_NOTICED}, by two seeds: it wakes up for an address that it has no more`,
  'eni creating.searching done findEni 0: without action 1 tellArrived': `${NOT_NOTICED}: what was taken from one ENI is on a new one whose Create was not answered`,
  'eni inUse.confirming done describeEni 0: without action 1 tellArrived': `${NOT_NOTICED}: what was taken from one ENI is put onto another one by hand, and that is compared first`,
  'eni inUse.confirming done describeEni 1: without action 1 tellArrived': 'as above',
  'eni attaching entry: without action 0 assign': `${NOT_NOTICED}: an ENI that was long in coming, and is taken away under pods later; test/statecharts/eni-in-line.test.ts sees it`,
  'eni inUse on freed 0: without action 2 armRest': ARMED_LATER,
  'eni inUse on withdraw 0: without action 2 armRest': ARMED_LATER,
  'eni inUse.assigning.completing always 0: without action 2 serve': `${NOT_NOTICED}, perhaps since whoever waits is served by the look at the ENI's wants that follows`,
  'eni inUse.assigning.turnedAway on cancel 0: without guard function': `${NOT_NOTICED}, by two seeds; test/statecharts/eni-in-line.test.ts sees it`,
  'eni inUse.assigning.turnedAway on unplugged 0: without guard hadDevice': `${NOT_REACHED}: the device of another ENI goes in that very moment; test/statecharts/eni-in-line.test.ts sees it`,
  'eni inUse.confirming done describeEni 3: without action 3 giveBack': `${NOT_NOTICED}, perhaps since nobody waits there when its device has been missed before`,
  'eni inUse.confirming done describeEni 4: without action 1 assign': `${NOT_NOTICED}: an ENI of others that was detached under pods of ours`,
  'eni inUse.looking always 0: to inUse': `${NOT_NOTICED}, since without a device it is confirmed, found to be unplugged, and set up by that way`,
  'eni inUse.unassigning on withdraw 0: missing': OWN_UNWRITTEN,
  'eni inUse.unassigning on withdraw 0: without action 0 takeBack': OWN_UNWRITTEN,
  'eni inUse.unassigning on withdraw 0: without action 1 deviceReturnsLater': OWN_UNWRITTEN,
  'eni inUse.unassigning on withdraw 0: without action 2 armRest': OWN_UNWRITTEN,
  'eni inUse.unassigning on withdraw 0: without action 3 report': OWN_UNWRITTEN,
  'eni deleting.confirming done describeEni 1: missing': LATE_ATTACH,
  'eni deleting.confirming done describeEni 1: to deleting': LATE_ATTACH,
  'eniFactory (root) entry: without action 2 armSurvey': `${NOT_NOTICED}: it needs a start beside ENIs of others after which nothing else leads to a look`,
  'garbageCollector collecting after timeout 0: without action 0 late': `${NOT_NOTICED}, by one seed: a pass that takes too long counts as no failure then`,
  'idlePool filling after period 0: missing': `${NOT_REACHED}: a grow that is neither refused nor begun within a period`,
  'idlePool filling after period 0: to filling': 'as above',
  'idlePool backingOff on periodEnded 0: without action 0 note': `${NOT_NOTICED}, by four seeds: the mark is measured anew at the next event`,
  'idlePool backingOff on poolChanged 0: without action 1 arm': `${NOT_NOTICED}, by two seeds: measuring arms it again when the rest is over`,
  'idlePool backingOff on settings 0: without action 1 arm': `${NOT_NOTICED}, by one seed, as after a change of the pool`,
  'idlePool backingOff on settings 1: without action 1 arm': `${NOT_NOTICED}, as after a change of the pool`,
};
