/** What the doctor looks at, in the order in which it is told. A new check is a line here. */
import type { NodeReport } from '../../ports/introspection.ts';
import type { Check, CheckResult } from './check.ts';
import { cloudChecks } from './cloud.ts';
import { healthCheck, refusalsCheck, storeCheck, waitingCheck } from './health.ts';
import { machineCheck } from './machine.ts';
import { apiServerCheck, cloudCheck, metadataCheck } from './others.ts';
import { podRouteCheck } from './pod-route.ts';

export const checks: readonly Check[] = [
  ...[healthCheck, storeCheck, machineCheck, apiServerCheck, metadataCheck, cloudCheck, ...cloudChecks],
  ...[podRouteCheck, waitingCheck, refusalsCheck],
];

export function examined(report: NodeReport, nowMs: number): readonly CheckResult[] {
  return checks.flatMap(({ name, of }) => of(report, nowMs).map((outcome) => ({ check: name, ...outcome })));
}
