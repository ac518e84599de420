/** A model with round delays and short ways to say the usual calls, for the tests of src/vpc. */
import { CloudError } from '../../src/vpc/errors.ts';
import type { VpcEvent } from '../../src/vpc/events.ts';
import { VpcModel } from '../../src/vpc/model.ts';
import type { ApiName, Input, Output } from '../../src/vpc/requests.ts';
import { type Delays, defaultSettings, type Settings } from '../../src/vpc/settings.ts';
import { defaultTopology } from '../../src/vpc/topology.ts';

export const NODE_1 = 'i-lab-node-1';
export const NODE_2 = 'i-lab-node-2';
export const VSWITCH = 'vsw-lab-1';

export const ROUND_DELAYS: Delays = {
  createCallMs: 100,
  attachCallMs: 100,
  detachCallMs: 100,
  deleteCallMs: 100,
  assignCallMs: 100,
  unassignCallMs: 100,
  modifyCallMs: 100,
  describeCallMs: 100,
  creatingMs: 0,
  attachingMs: 1_000,
  deviceMs: 0,
  detachingMs: 1_000,
  deletingMs: 1_000,
  describeLagMs: 0,
  metadataMacMs: 500,
  metadataAddressMs: 500,
  freeCountMs: 0,
};

export const CREATE: Input<'CreateNetworkInterface'> = {
  vSwitchId: VSWITCH,
  securityGroupIds: ['sg-lab'],
  primaryIp: null,
  ipv4: { count: 0 },
  ipv6: { count: 0 },
  name: '',
  description: '',
  deleteOnRelease: true,
  sourceDestCheck: false,
  trafficMode: 'Standard',
  queueNumber: null,
  tags: {},
};

export const DESCRIBE_ENIS: Input<'DescribeNetworkInterfaces'> = {
  eniIds: [],
  instanceId: null,
  type: null,
  status: null,
  vpcId: null,
  vSwitchId: null,
  securityGroupId: null,
  name: null,
  primaryIp: null,
  ips: [],
  tags: [],
  page: { kind: 'token', nextToken: null, maxResults: 500 },
};

type Options = { settings?: Partial<Settings>; delays?: Partial<Delays>; instanceType?: string };

/** A model at time 0 with the events it emits. */
export function smallWorld(options: Options = {}) {
  const settings: Settings = {
    ...defaultSettings('fast'),
    ...options.settings,
    delays: { ...ROUND_DELAYS, ...options.delays },
  };
  const model = new VpcModel({ topology: defaultTopology(options.instanceType ?? 'lab.small'), nowMs: 0, settings });
  const events: VpcEvent[] = [];
  model.subscribe((event) => void events.push(event));
  const at = <A extends ApiName>(nowMs: number, api: A, input: Input<A>): Output<A> =>
    model.perform(api, input, { nowMs, answerMs: nowMs + model.callMs(api), transition: null });
  return {
    model,
    events,
    at,
    create: (nowMs: number, more: Partial<Input<'CreateNetworkInterface'>> = {}) =>
      at(nowMs, 'CreateNetworkInterface', { ...CREATE, ...more }),
    /** The code of the error, or `ok`. */
    code: <A extends ApiName>(nowMs: number, api: A, input: Input<A>): string => {
      try {
        at(nowMs, api, input);
        return 'ok';
      } catch (error) {
        if (error instanceof CloudError) return error.code;
        throw error;
      }
    },
    status: (nowMs: number, eniId: string) =>
      model.truth(nowMs).enis.find((eni) => eni.eniId === eniId)?.status ?? 'gone',
    shown: (nowMs: number, eniId: string) =>
      at(nowMs, 'DescribeNetworkInterfaces', { ...DESCRIBE_ENIS, eniIds: [eniId] }).items[0] ?? null,
    free: (nowMs: number) => model.truth(nowMs).vSwitches.find((one) => one.vSwitchId === VSWITCH)?.availableAddresses,
  };
}
