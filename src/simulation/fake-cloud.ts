/**
 * Port Cloud over the pure model: the fake of src/adapters/ecs, held to the same contract suite (test/contracts/cloud.ts).
 *
 * It sends what the adapter sends and fails as the adapter fails, down to the words of the detail. It has no rate limit of its own: `around` may give it one.
 */
import { withKey } from '../adapters/credentials/with-key.ts';
import { alreadyDone, cloudErrorCode } from '../core/cloud-errors.ts';
import type { CloudEni, InstanceLimits, VSwitch } from '../core/eni.ts';
import { EnactorError } from '../core/errors.ts';
import { type Cloud, CloudError, type CreateEni, type EniFilter } from '../ports/cloud.ts';
import type { Credentials } from '../ports/credentials.ts';
import type { Answer } from '../vpc/gateway.ts';
import type { ApiName, EniView, Input, Output } from '../vpc/requests.ts';
import type { Life } from './life.ts';
import type { Lateness, VirtualCloud } from './virtual-cloud.ts';

const ENI_PAGE_SIZE = 500;
const ENI_PAGES_MAX = 100;
const ENI_IDS_MAX = 100;

/** `lost`: the caller cannot know whether the call was carried out. */
export type CallOutcome = 'done' | 'refused' | 'lost' | 'left';

/** Who looks over the shoulder of each call. `sending` may end the life: then nothing is sent. */
export type CloudTap = {
  sending<A extends ApiName>(api: A, input: Input<A>, clientToken: string | null): void;
  /** Whether, and how, a call that has arrived is late. */
  late(api: ApiName): Lateness | null;
  carriedOut(api: ApiName): void;
  /** The caller has, or no longer waits for, the answer. */
  settled<A extends ApiName>(api: A, input: Input<A>, clientToken: string | null, outcome: CallOutcome): void;
};

const noTap: CloudTap = { sending() {}, late: () => null, carriedOut() {}, settled() {} };

export type FakeCloudOptions = {
  readonly cloud: VirtualCloud;
  readonly life: Life;
  /** Bound on one call. */
  readonly timeoutMs: number;
  /** How long a call is on its way. */
  readonly wireMs?: () => number;
  /** Whether a call arrives whose sender has died meanwhile. */
  readonly arrivesAfterCrash?: boolean;
  readonly tap?: CloudTap;
  /** What each call goes through on its way out, as its turn; default: nothing. */
  readonly around?: <T>(
    call: {
      readonly api: ApiName;
      readonly who: string;
      readonly background: boolean;
      readonly signal: AbortSignal;
    },
    send: () => Promise<T>,
  ) => Promise<T>;
  /** Where calls wait before it is settled what they ask for; default: nowhere. */
  readonly turn?: NonNullable<Cloud['turn']>;
  /** What signs each call, and whether a key opens when the call arrives; without them nobody asks for keys. */
  readonly keys?: { readonly credentials: Credentials; readonly opens: (accessKeyId: string) => boolean };
};

export function fakeCloud(options: FakeCloudOptions): Cloud {
  const { cloud, life, timeoutMs, wireMs = () => 0, arrivesAfterCrash = true, tap = noTap, keys, around } = options;

  type More = {
    readonly params?: Readonly<Record<string, string>>;
    readonly clientToken?: string;
    readonly background?: boolean;
  };

  function call<A extends ApiName>(api: A, input: Input<A>, signal: AbortSignal, more: More = {}): Promise<Output<A>> {
    if (around === undefined) return signed(api, input, signal, more);
    const { NetworkInterfaceId, VSwitchId } = more.params ?? {};
    const who = NetworkInterfaceId ?? VSwitchId ?? '';
    return around({ api, who, background: more.background ?? false, signal }, () => signed(api, input, signal, more));
  }

  function signed<A extends ApiName>(api: A, input: Input<A>, signal: AbortSignal, more: More): Promise<Output<A>> {
    if (keys === undefined) return sent(api, input, signal, more, null);
    return withKey(keys.credentials, signal, ({ accessKeyId }) => sent(api, input, signal, more, accessKeyId));
  }

  function sent<A extends ApiName>(
    api: A,
    input: Input<A>,
    signal: AbortSignal,
    more: More,
    accessKeyId: string | null,
  ): Promise<Output<A>> {
    return life.promise((resolve, reject) => {
      const cancelled = (): EnactorError => new EnactorError('cancelled', `${api}: the call was given up`);
      tap.sending(api, input, more.clientToken ?? null);
      if (life.over) return;
      let open = true;
      const end = (outcome: CallOutcome): boolean => {
        if (!open) return false;
        open = false;
        signal.removeEventListener('abort', abort);
        if (!life.over) tap.settled(api, input, more.clientToken ?? null, outcome);
        return true;
      };
      const abort = (): void => void (end('left') && reject(cancelled()));
      const unanswered = (why: string): CloudError => new CloudError('cloudUnreachable', `${api}: ${why}`, '');
      life.after(timeoutMs, () => void (end('lost') && reject(unanswered('no answer in time'))));
      signal.addEventListener('abort', abort, { once: true });
      cloud.send({ api, input, params: more.params ?? {}, clientToken: more.clientToken ?? null }, wireMs(), {
        lost: () => life.over && !arrivesAfterCrash,
        refused: () =>
          accessKeyId === null || keys?.opens(accessKeyId) === true ? null : 'InvalidSecurityToken.Expired',
        late: () => tap.late(api),
        carriedOut: () => {
          if (!life.over) tap.carriedOut(api);
        },
        answered: (answer) => {
          const { instead, result } = answer;
          if (instead !== null && 'drop' in instead) {
            if (instead.drop !== 'hang' && end('lost')) reject(unanswered('ECONNRESET read ECONNRESET'));
            return;
          }
          if (!end(instead !== null ? 'lost' : result.ok ? 'done' : 'refused')) return;
          if (instead !== null) reject(new CloudError('cloud', `${api}: unreadable answer: ${instead.body}`, ''));
          else if (result.ok) resolve(result.output);
          else reject(refused(api, answer));
        },
      });
      if (signal.aborted) abort();
    });
  }

  async function pages(
    filter: Partial<Input<'DescribeNetworkInterfaces'>>,
    signal: AbortSignal,
    background: boolean,
  ): Promise<CloudEni[]> {
    const api = 'DescribeNetworkInterfaces';
    const enis: CloudEni[] = [];
    let nextToken: string | null = null;
    for (let page = 0; page < ENI_PAGES_MAX; page += 1) {
      const answer: Output<'DescribeNetworkInterfaces'> = await call(
        api,
        { ...anyEni, ...filter, page: { kind: 'token', nextToken, maxResults: ENI_PAGE_SIZE } },
        signal,
        { background },
      );
      enis.push(...answer.items.map(eniOf));
      if (answer.nextToken === '') return enis;
      nextToken = answer.nextToken;
    }
    throw new CloudError('cloud', `${api}: more than ${ENI_PAGES_MAX} pages`, '');
  }

  const detachOrAttach = (eniId: string, instanceId: string) => ({
    params: { NetworkInterfaceId: eniId, InstanceId: instanceId },
  });

  const assign =
    (api: 'AssignPrivateIpAddresses' | 'AssignIpv6Addresses'): Cloud['assignIpv4'] =>
    async (eniId, count, clientToken, signal, background = false) => {
      const params = { NetworkInterfaceId: eniId, ClientToken: clientToken };
      const { ips } = await call(api, { eniId, want: { count } }, signal, { clientToken, params, background });
      return [...ips];
    };

  const unassign =
    (api: 'UnassignPrivateIpAddresses' | 'UnassignIpv6Addresses'): Cloud['unassignIpv4'] =>
    async (eniId, ips, signal) => {
      const take = (some: readonly string[]) =>
        call(api, { eniId, ips: some }, signal, { params: { NetworkInterfaceId: eniId } });
      if (ips.length === 0) return;
      try {
        await take(ips);
      } catch (thrown) {
        if (!saysDone(alreadyDone.unassign, thrown)) throw thrown;
        if (ips.length === 1 || (thrown as CloudError).cloudCode !== 'InvalidIp.IpUnassigned') return;
        for (const ip of ips) await unless(alreadyDone.unassign, () => take([ip]));
      }
    };

  return {
    keptAs: 'type',
    ...(options.turn === undefined ? {} : { turn: options.turn }),

    async instanceLimits(instanceType, signal): Promise<InstanceLimits> {
      const api = 'DescribeInstanceTypes';
      const { items } = await call(api, { instanceTypes: [instanceType], family: null, page: firstPage }, signal);
      const found = items.find((one) => one.instanceType === instanceType);
      if (found === undefined)
        throw new CloudError('cloud', `${api}: the cloud does not know the instance type ${instanceType}`, '');
      const { enis, ipv4PerEni, ipv6PerEni } = found;
      return { instanceType, enis, ipv4PerEni, ipv6PerEni };
    },

    async vSwitches(ids, signal): Promise<VSwitch[]> {
      const found: VSwitch[] = [];
      for (const vSwitchId of ids) {
        const filter = { vSwitchId, vpcId: null, zoneId: null, page: { kind: 'number', pageNumber: 1, pageSize: 10 } };
        const { items } = await call('DescribeVSwitches', filter as Input<'DescribeVSwitches'>, signal);
        found.push(...items.filter((one) => one.vSwitchId === vSwitchId).map((one) => ({ ...one })));
      }
      return found;
    },

    async describeEnis({ instanceId, eniIds, tags, background = false }: EniFilter, signal) {
      const filter = {
        instanceId: instanceId ?? null,
        tags: Object.entries(tags ?? {}).map(([key, value]) => ({ key, value })),
      };
      if (eniIds === undefined) return await pages(filter, signal, background);
      const enis: CloudEni[] = [];
      for (let from = 0; from < eniIds.length; from += ENI_IDS_MAX)
        enis.push(...(await pages({ ...filter, eniIds: eniIds.slice(from, from + ENI_IDS_MAX) }, signal, background)));
      return enis;
    },

    async createEni(wanted: CreateEni, signal) {
      const input: Input<'CreateNetworkInterface'> = {
        vSwitchId: wanted.vSwitchId,
        securityGroupIds: wanted.securityGroupIds,
        primaryIp: null,
        ipv4: { count: wanted.ipv4Count - 1 },
        ipv6: { count: wanted.ipv6Count },
        name: '',
        description: wanted.description,
        deleteOnRelease: true,
        sourceDestCheck: false,
        trafficMode: 'Standard',
        queueNumber: null,
        tags: wanted.tags,
      };
      const { clientToken, background = false } = wanted;
      const params = { VSwitchId: wanted.vSwitchId, ClientToken: clientToken };
      return eniOf(await call('CreateNetworkInterface', input, signal, { clientToken, params, background }));
    },

    async attachEni(eniId, instanceId, signal) {
      await call('AttachNetworkInterface', { eniId, instanceId }, signal, detachOrAttach(eniId, instanceId));
    },

    async detachEni(eniId, instanceId, signal) {
      await unless(alreadyDone.detach, () =>
        call('DetachNetworkInterface', { eniId, instanceId }, signal, detachOrAttach(eniId, instanceId)),
      );
    },

    async deleteEni(eniId, signal) {
      await unless(alreadyDone.delete, () =>
        call('DeleteNetworkInterface', { eniId }, signal, { params: { NetworkInterfaceId: eniId } }),
      );
    },

    assignIpv4: assign('AssignPrivateIpAddresses'),
    unassignIpv4: unassign('UnassignPrivateIpAddresses'),
    assignIpv6: assign('AssignIpv6Addresses'),
    unassignIpv6: unassign('UnassignIpv6Addresses'),
  };
}

const firstPage = { kind: 'token', nextToken: null, maxResults: null } as const;

const anyEni: Omit<Input<'DescribeNetworkInterfaces'>, 'page'> = {
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
};

function eniOf({
  eniId,
  mac,
  status,
  type,
  vpcId,
  vSwitchId,
  zoneId,
  ipv4,
  ipv6,
  securityGroupIds,
  tags,
  instanceId,
}: EniView): CloudEni {
  return {
    eniId,
    mac,
    status,
    type,
    vpcId,
    vSwitchId,
    zoneId,
    ipv4: [...ipv4],
    ipv6: [...ipv6],
    securityGroupIds,
    tags,
    instanceId,
  };
}

function refused(api: ApiName, { result, requestId }: Answer<ApiName>): CloudError {
  const { code, message } = result as Extract<typeof result, { ok: false }>;
  return new CloudError(cloudErrorCode(code), `${code}, request ${requestId}, ${api}: ${message}`, code);
}

async function unless(done: readonly string[], call: () => Promise<unknown>): Promise<void> {
  try {
    await call();
  } catch (thrown) {
    if (!saysDone(done, thrown)) throw thrown;
  }
}

function saysDone(done: readonly string[], thrown: unknown): boolean {
  return thrown instanceof CloudError && done.includes(thrown.cloudCode);
}
