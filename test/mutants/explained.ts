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
