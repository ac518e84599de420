/** '' and null are how Go writes what was not said: a key of Terway's may have them, ours may not. */
import { z } from 'zod';

export const isUnsaid = (value: unknown): boolean => value === '' || value === null || value === undefined;

export const unsaid = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (isUnsaid(value) ? undefined : value), schema.optional());
