/**
 * Mutants that nothing can tell from the chart they were made from, each with the reason. `npm run mutants` complains about one that does
 * not exist any more, and about one that is killed after all.
 */
export const EXPLAINED: Readonly<Record<string, string>> = {
  'lease opening exit: without action 0 disarmDeadline':
    'a deadline that passes later is heard in no other state; disarming it spares a timer and an entry of the journal',
  'lease opening on forget 0: without action 0 dropAsker':
    'the lease ends within the step, and an answer to somebody who has left reaches nobody; the test of the chart sees it',
};
