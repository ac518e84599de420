import { randomUUID } from 'node:crypto';
import type { Entropy } from '../ports/entropy.ts';

/** The machine's own: tokens are UUIDs, which every API takes. */
export const systemEntropy: Entropy = { token: () => randomUUID(), fraction: () => Math.random() };
