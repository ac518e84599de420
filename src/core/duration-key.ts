/** How the configuration says a time: as Go does, at most a week, since timers hold 24 days and nothing here needs more. */
import { z } from 'zod';
import { durationMs } from './duration.ts';

const DURATION_MAX_MS = 7 * 24 * 3_600_000;

export const duration = z
  .string()
  .refine((text) => durationMs(text) !== null, 'is not a duration such as 30s, 10m or 500ms')
  .transform((text) => durationMs(text) ?? 0)
  .refine((ms) => ms <= DURATION_MAX_MS, 'is longer than a week');

export const period = duration.refine((ms) => ms >= 1, 'must be longer than nothing');
