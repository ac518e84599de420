/**
 * Mutants that nothing can tell from the chart they were made from, each with the reason. `npm run mutants` complains about one that does
 * not exist any more, and about one that is killed after all.
 */
export const EXPLAINED: Readonly<Record<string, string>> = {};
