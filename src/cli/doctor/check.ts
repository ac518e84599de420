/** One thing that the doctor looks at, over what the daemon tells. */
import type { NodeReport } from '../../ports/introspection.ts';

export type CheckOutcome = {
  /** `warning`: it works, but not for long, or not as well. */
  readonly is: 'ok' | 'warning' | 'problem';
  readonly says: string;
  /** null when nothing has to be done. */
  readonly whatToDo: string | null;
};

export type CheckResult = CheckOutcome & { readonly check: string };

export type Check = {
  readonly name: string;
  /** One outcome for each thing that is wrong; an `ok` one when nothing is. Empty: there is nothing of the kind on this node. */
  of(report: NodeReport, nowMs: number): readonly CheckOutcome[];
};

export const ok = (says: string): CheckOutcome => ({ is: 'ok', says, whatToDo: null });

export const warning = (says: string, whatToDo: string): CheckOutcome => ({ is: 'warning', says, whatToDo });

export const problem = (says: string, whatToDo: string): CheckOutcome => ({ is: 'problem', says, whatToDo });
