import type { ErrorCode } from '../core/errors.ts';
import type { Why } from './introspection.ts';

/** How one request for an address went, for whoever counts. */
export type Answered = {
  readonly outcome: 'ok' | ErrorCode;
  readonly stages: Why['stages'];
};
