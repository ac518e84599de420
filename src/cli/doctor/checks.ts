/** What the doctor looks at, in the order in which it is told. A new check is a line here. */
import type { NodeReport } from '../../ports/introspection.ts';
import type { Check, CheckResult } from './check.ts';
import { cloudChecks } from './cloud.ts';
import { healthCheck, refusalsCheck, storeCheck } from './health.ts';

export const checks: readonly Check[] = [healthCheck, storeCheck, ...cloudChecks, refusalsCheck];

export function examined(report: NodeReport, nowMs: number): readonly CheckResult[] {
  return checks.flatMap(({ name, of }) => of(report, nowMs).map((outcome) => ({ check: name, ...outcome })));
}
