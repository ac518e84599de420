/** What an invoked call brings back, with the instant it came: charts read no clock. */
export type At<T> = { readonly atMs: number; readonly value: T };
