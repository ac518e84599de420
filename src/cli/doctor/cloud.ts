/** The node's way to the cloud: credentials, clock, throttling, security groups. */
import { skewSentence } from '../../core/clock-skew-sentence.ts';
import { forHowLong } from '../../lab/view/words.ts';
import { type Check, ok, problem, warning } from './check.ts';

/** The cloud refuses at 15 minutes. */
const SKEW_WARNING_MS = 60_000;
const SKEW_PROBLEM_MS = 14 * 60_000;

export const credentialsCheck: Check = {
  name: 'credentials',
  of({ cloud }, nowMs) {
    if (cloud === undefined) return [];
    const { source, from, untilMs, failure } = cloud.credentials;
    const where = source === null ? 'none yet' : `${source}: ${from}`;
    if (failure !== null) {
      const alive = untilMs !== null && untilMs > nowMs;
      const old = alive ? `; the old ones end in ${forHowLong(untilMs - nowMs)}` : '';
      const says = `${where}; cannot be had for ${forHowLong(nowMs - failure.sinceMs)}: ${failure.why}${old}`;
      const whatToDo =
        'mend that source, or name another one in credential_source (deploy/configuration.md, Credentials)';
      return [alive ? warning(says, whatToDo) : problem(says, whatToDo)];
    }
    if (source === null) return [ok('not asked for yet')];
    return [
      ok(untilMs === null ? `${where}, without an end` : `${where}, until ${forHowLong(untilMs - nowMs)} from now`),
    ];
  },
};

export const clockCheck: Check = {
  name: 'clock',
  of({ cloud }) {
    const skewMs = cloud?.clockSkewMs ?? null;
    if (skewMs === null) return [];
    const whatToDo = 'set the clock, best by NTP (chronyd; ntp.cloud.aliyuncs.com answers inside the VPC)';
    if (Math.abs(skewMs) >= SKEW_PROBLEM_MS)
      return [problem(`${skewSentence(skewMs)}: calls are refused (InvalidTimeStamp.Expired)`, whatToDo)];
    if (Math.abs(skewMs) >= SKEW_WARNING_MS)
      return [warning(`${skewSentence(skewMs)}; at 15 minutes calls are refused`, whatToDo)];
    return [ok('as the cloud’s, to a minute')];
  },
};

export const throttlingCheck: Check = {
  name: 'throttling',
  of({ cloud }) {
    if (cloud === undefined) return [];
    if (cloud.resting.length === 0) return [ok('no API rests')];
    return cloud.resting.map(({ api, times, forMs }) =>
      warning(
        `${api} was throttled ${times} times in a row and rests for ${forHowLong(forMs)} yet`,
        'nothing if it passes; else ask the cloud for a higher rate, or lower rate_limit where many nodes share the account',
      ),
    );
  },
};

export const groupsCheck: Check = {
  name: 'security groups',
  of({ cloud }, nowMs) {
    const groups = cloud?.securityGroups ?? null;
    if (groups === null) return [];
    const looked = `looked ${forHowLong(nowMs - groups.lookedMs)} ago`;
    const unseen =
      groups.failure === null
        ? []
        : [
            warning(
              `cannot be looked at: ${groups.failure}`,
              'allow ecs:DescribeSecurityGroups; the node works without',
            ),
          ];
    const found = groups.findings.map(({ case: kind, says, whatToDo }) =>
      kind === 'full' || kind === 'missing' ? problem(says, whatToDo) : warning(says, whatToDo),
    );
    return unseen.length + found.length === 0 ? [ok(`nothing is wrong with them (${looked})`)] : [...unseen, ...found];
  },
};

export const cloudChecks: readonly Check[] = [credentialsCheck, clockCheck, throttlingCheck, groupsCheck];
