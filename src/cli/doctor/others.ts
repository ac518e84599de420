/** Whether those answer whom the node asks: the cloud's API and what it has refused for a while, the metadata service, the API server. */
import { forHowLong } from '../../lab/view/words.ts';
import type { NodeReport, ReachReport } from '../../ports/introspection.ts';
import { type Check, type CheckOutcome, ok, problem, warning } from './check.ts';

/** One call that was lost is no outage. */
const OUTAGE_MS = 30_000;

export const cloudCheck: Check = {
  name: 'cloud',
  of({ cloud, holds = [] }, nowMs) {
    if (cloud === undefined) return [];
    const silent = silence(cloud.api, nowMs, {
      who: 'the API of ECS and VPC',
      whatToDo:
        'see the way from this node to its endpoint (--ecs-endpoint; DNS, routes, security group); pods go on, new ones get what is idle',
    });
    const held = holds.flatMap((hold) => holdOutcome(hold, nowMs));
    if (silent.length + held.length > 0) return [...silent, ...held];
    return [ok(answers(cloud.api, nowMs))];
  },
};

export const metadataCheck: Check = {
  name: 'metadata',
  of({ cloud }, nowMs) {
    if (cloud?.metadata === undefined) return [];
    const silent = silence(cloud.metadata, nowMs, {
      who: 'the metadata service',
      whatToDo:
        'ask it from this node: curl http://100.100.100.200/latest/meta-data/instance-id; a proxy or a policy may stand in between',
    });
    return silent.length > 0 ? silent : [ok(answers(cloud.metadata, nowMs))];
  },
};

export const apiServerCheck: Check = {
  name: 'API server',
  of({ podWatch }, nowMs) {
    if (podWatch === undefined) return [];
    const { awaySinceMs, heardAtMs, why, gaps } = podWatch;
    const whatToDo =
      'see the way to the API server (--kubeconfig, or the service account of the pod) and what it allows (deploy/base/permissions.yaml); pods go on, garbage is not collected';
    if (awaySinceMs !== null) {
      const says = `this node’s pods have not been watched for ${forHowLong(nowMs - awaySinceMs)}: ${why}`;
      return [nowMs - awaySinceMs < OUTAGE_MS ? warning(says, whatToDo) : problem(says, whatToDo)];
    }
    if (heardAtMs === null) return [warning('has told nothing yet', whatToDo)];
    const before = gaps === 0 ? '' : `; was away ${gaps === 1 ? 'once' : `${gaps} times`} since the start`;
    return [ok(`pods are watched, last heard ${forHowLong(nowMs - heardAtMs)} ago${before}`)];
  },
};

function answers(reach: ReachReport | undefined, nowMs: number): string {
  const answeredMs = reach?.answeredMs ?? null;
  return answeredMs === null ? 'not asked yet' : `answers, last ${forHowLong(nowMs - answeredMs)} ago`;
}

function silence(
  reach: ReachReport | undefined,
  nowMs: number,
  { who, whatToDo }: { readonly who: string; readonly whatToDo: string },
): readonly CheckOutcome[] {
  const { silent = null } = reach ?? {};
  if (silent === null) return [];
  const forMs = nowMs - silent.sinceMs;
  const says = `${who} has not answered for ${forHowLong(forMs)}: ${silent.why}`;
  return [forMs < OUTAGE_MS ? warning(says, whatToDo) : problem(says, whatToDo)];
}

/** An ENI that has all it may have is no trouble. */
function holdOutcome(
  { of, name, untilMs }: NonNullable<NodeReport['holds']>[number],
  nowMs: number,
): readonly CheckOutcome[] {
  const again = `asked again in ${forHowLong(untilMs - nowMs)}`;
  switch (of) {
    case 'vSwitch':
      return [
        problem(
          `${name} has no address left; ${again}`,
          'name another vSwitch of this zone in vswitches, or free addresses of it; enactor why POD tells who waits for it',
        ),
      ];
    case 'quota':
      return [
        warning(
          `this instance gets no more ENIs; ${again}`,
          'a larger instance type, or fewer ENIs of others on it (enactor metadata shows all)',
        ),
      ];
    case 'opening':
      return [warning(`an ENI could not be opened; ${again}`, 'enactor eni and the log tell why')];
    case 'eni':
      return [];
  }
}
