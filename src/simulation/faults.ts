/** What goes wrong at a node's ports and at the cloud, drawn one at a time. */
import type { Fault } from '../vpc/faults.ts';
import type { Deed } from './deed.ts';
import type { Seeded } from './seeded.ts';

const REFUSALS = [
  'Throttling.User',
  'InternalError',
  'ServiceUnavailable',
  'InvalidVSwitchId.IpNotEnough',
  'Operation.Conflict',
  'Forbidden.RAM',
  'EniPerInstanceLimitExceeded',
  'InvalidOperation.Ipv4CountExceeded',
  'QuotaExceeded.PrivateIpAddress',
  'MaxEniCountExceeded',
  'IdempotentFailed',
] as const;

const MUTATING = [
  'CreateNetworkInterface',
  'AttachNetworkInterface',
  'DetachNetworkInterface',
  'DeleteNetworkInterface',
  'AssignPrivateIpAddresses',
  'UnassignPrivateIpAddresses',
] as const;

const DUAL_REFUSALS = [...REFUSALS, 'InvalidOperation.Ipv6CountExceeded', 'InvalidVSwitch.Ipv6NotTurnOn'] as const;
const DUAL_MUTATING = [...MUTATING, 'AssignIpv6Addresses', 'AssignIpv6Addresses', 'UnassignIpv6Addresses'] as const;

export function apiFault(fates: Seeded, node: number): Deed {
  const times = fates.pick([1, 2, 4]);
  if (fates.chance(0.5)) return { do: 'shortLists', node, times };
  return { do: 'portFault', node, port: fates.pick(['kubernetes', 'sandboxes'] as const), times };
}

export function fault(chance: Seeded, node: number, dual: boolean): readonly Deed[] {
  const kind = chance.fraction();
  // An answer is lost, and then the same call is refused for good: it may have been carried out.
  if (kind < 0.03) {
    const forMs = chance.pick([5_000, 30_000]);
    const api = 'CreateNetworkInterface';
    const code = chance.pick([
      'Forbidden.RAM',
      'InvalidVSwitchId.IpNotEnough',
      'IdempotentFailed',
      'InternalError',
    ] as const);
    const lost: Fault = { api, times: 1, params: {}, effect: 'drop', how: 'close' };
    const refused: Fault = {
      api,
      times: chance.between(1, 8),
      params: {},
      effect: 'fail',
      code,
      status: null,
      message: null,
    };
    const first: Deed = { do: 'callFault', fault: lost, forMs };
    return chance.chance(0.7)
      ? [{ do: 'callFault', fault: refused, forMs }]
      : [first, { do: 'callFault', fault: { ...refused, times: 200 }, forMs }];
  }
  return [oneFault(chance, node, kind, dual)];
}

function oneFault(chance: Seeded, node: number, kind: number, dual: boolean): Deed {
  if (kind < 0.1) return { do: 'drySwitch', vSwitch: chance.between(0, 1), forMs: chance.between(1_000, 60_000) };
  if (kind < 0.2) {
    const lateMs = chance.pick([500, 3_000, 45_000]);
    return { do: 'lateDevices', node, lateMs, forMs: chance.between(1_000, 20_000) };
  }
  if (kind < 0.35) {
    const port = chance.pick(['store', 'metadata', 'kernel'] as const);
    return { do: 'portFault', node, port, times: chance.pick([1, 1, 2, 3, 8]) };
  }
  const planted = callFault(chance, dual);
  // A held call goes on before its caller gives up: what is carried out after that is another matter (lateCalls).
  const forMs = planted.effect === 'hold' ? chance.between(100, 10_000) : chance.pick([2_000, 20_000, 90_000]);
  return { do: 'callFault', fault: planted, forMs };
}

function callFault(chance: Seeded, dual: boolean): Fault {
  const api = chance.chance(0.75)
    ? chance.pick(dual ? DUAL_MUTATING : MUTATING)
    : chance.pick(['DescribeNetworkInterfaces', '*'] as const);
  const planted = { api, times: chance.pick([1, 1, 2, 5, 200]), params: {} };
  switch (chance.pick(['fail', 'fail', 'fail', 'drop', 'drop', 'delay', 'hold', 'transition', 'reply'] as const)) {
    case 'fail':
      return {
        ...planted,
        effect: 'fail',
        code: chance.pick(dual ? DUAL_REFUSALS : REFUSALS),
        status: null,
        message: null,
      };
    case 'drop':
      return { ...planted, effect: 'drop', how: chance.pick(['close', 'hang'] as const) };
    case 'delay':
      return { ...planted, effect: 'delay', ms: chance.pick([300, 5_000, 30_000]) };
    case 'hold':
      return { ...planted, effect: 'hold' };
    case 'reply': {
      const html = { status: 502, contentType: 'text/html', body: '<html>Bad Gateway</html>' };
      return { ...planted, effect: 'reply', ...html, carriedOut: chance.chance(0.5) };
    }
    case 'transition':
      return {
        ...planted,
        effect: 'transition',
        lastsMs: chance.pick([0, 10_000, 200_000]),
        fails: chance.chance(0.5),
      };
  }
}
