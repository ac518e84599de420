/**
 * The OpenAPI call by call, each answer as it came: refusals are values here, and nothing is taken for done. Port Cloud smooths over
 * what an experiment wants to see.
 *
 * Every call counts against a bound, and what was made is remembered, so that a verification costs what it says.
 */
import { randomUUID } from 'node:crypto';
import { AssignPrivateIpAddressesRequest } from '@alicloud/ecs20140526/dist/models/AssignPrivateIpAddressesRequest.js';
import { AssignPrivateIpAddressesResponse } from '@alicloud/ecs20140526/dist/models/AssignPrivateIpAddressesResponse.js';
import { AttachNetworkInterfaceRequest } from '@alicloud/ecs20140526/dist/models/AttachNetworkInterfaceRequest.js';
import { AttachNetworkInterfaceResponse } from '@alicloud/ecs20140526/dist/models/AttachNetworkInterfaceResponse.js';
import { CreateNetworkInterfaceRequest } from '@alicloud/ecs20140526/dist/models/CreateNetworkInterfaceRequest.js';
import { CreateNetworkInterfaceResponse } from '@alicloud/ecs20140526/dist/models/CreateNetworkInterfaceResponse.js';
import { DeleteNetworkInterfaceRequest } from '@alicloud/ecs20140526/dist/models/DeleteNetworkInterfaceRequest.js';
import { DeleteNetworkInterfaceResponse } from '@alicloud/ecs20140526/dist/models/DeleteNetworkInterfaceResponse.js';
import { DescribeNetworkInterfacesRequest } from '@alicloud/ecs20140526/dist/models/DescribeNetworkInterfacesRequest.js';
import { DescribeNetworkInterfacesResponse } from '@alicloud/ecs20140526/dist/models/DescribeNetworkInterfacesResponse.js';
import { DetachNetworkInterfaceRequest } from '@alicloud/ecs20140526/dist/models/DetachNetworkInterfaceRequest.js';
import { DetachNetworkInterfaceResponse } from '@alicloud/ecs20140526/dist/models/DetachNetworkInterfaceResponse.js';
import { UnassignPrivateIpAddressesRequest } from '@alicloud/ecs20140526/dist/models/UnassignPrivateIpAddressesRequest.js';
import { UnassignPrivateIpAddressesResponse } from '@alicloud/ecs20140526/dist/models/UnassignPrivateIpAddressesResponse.js';
import { DescribeVSwitchesRequest } from '@alicloud/vpc20160428/dist/models/DescribeVswitchesRequest.js';
import { DescribeVSwitchesResponse } from '@alicloud/vpc20160428/dist/models/DescribeVswitchesResponse.js';
import { CallTurns } from '../adapters/ecs/call-turns.ts';
import { ClockSkew } from '../adapters/ecs/clock-skew.ts';
import { canonical, cloudEni, type EniDescription } from '../adapters/ecs/cloud-eni.ts';
import { rpcClient } from '../adapters/ecs/rpc-client.ts';
import type { EniStatus } from '../core/eni.ts';
import { EnactorError, failureOf } from '../core/errors.ts';
import { CloudError } from '../ports/cloud.ts';
import type { Credentials } from '../ports/credentials.ts';

/** `ms`: from when the request left until its answer, without any wait for its turn. */
export type Reply<T> =
  | { readonly ok: true; readonly value: T; readonly ms: number }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly ms: number };

export type SeenEni = {
  readonly eniId: string;
  readonly mac: string;
  readonly status: EniStatus;
  /** The primary one first. */
  readonly ipv4: readonly string[];
  /** As it came: absent and empty are not the same here. */
  readonly instanceId: string | undefined;
  readonly deleteOnRelease: boolean | undefined;
};

export type RawCloud = ReturnType<typeof rawCloud>;

export type RawCloudOptions = {
  readonly regionId: string;
  readonly ecsEndpoint: string;
  readonly vpcEndpoint: string;
  readonly scheme: 'http' | 'https';
  readonly credentials: Credentials;
  readonly timeoutMs: number;
  /** Calls that are made at the most; the next one throws EnactorError `cancelled`. Clean-up is not counted. */
  readonly callsMax: number;
};

export function rawCloud(options: RawCloudOptions, signal: AbortSignal) {
  const { regionId, credentials, scheme, timeoutMs, callsMax } = options;
  const took = new Map<string, number>();
  const access = {
    ...{ scheme, credentials, timeoutMs, skew: new ClockSkew(), turns: new CallTurns({ rateLimits: {} }) },
    onCall: (api: string, _code: string, ms: number) => void took.set(api, ms),
  };
  const ecs = rpcClient({ ...access, endpoint: options.ecsEndpoint, version: '2014-05-26' });
  const vpc = rpcClient({ ...access, endpoint: options.vpcEndpoint, version: '2016-04-28' });
  let calls = 0;
  let bounded = true;

  /** A refusal of the cloud is a value; that it cannot be reached, or that we were told to stop, is not. */
  async function reply<T>(action: string, call: () => Promise<T>): Promise<Reply<T>> {
    calls += 1;
    if (bounded && calls > callsMax)
      throw new EnactorError('cancelled', `${callsMax} calls were made, as many as this run may cost`);
    try {
      return { ok: true, value: await call(), ms: took.get(action) ?? 0 };
    } catch (thrown) {
      if (thrown instanceof CloudError && thrown.cloudCode !== '')
        return { ok: false, code: thrown.cloudCode, message: failureOf(thrown).detail, ms: took.get(action) ?? 0 };
      throw thrown;
    }
  }

  const seen = (action: string, from: EniDescription & { deleteOnRelease?: boolean }): SeenEni => {
    const { eniId, mac, status, ipv4 } = cloudEni(action, from);
    return { eniId, mac, status, ipv4, instanceId: from.instanceId, deleteOnRelease: from.deleteOnRelease };
  };

  return {
    get calls() {
      return calls;
    },
    /** From now on nothing is counted: what was made has to go, whatever it costs. */
    unbound() {
      bounded = false;
    },

    /** DeleteOnRelease is left out: its default is one of the things to see. */
    create(input: {
      readonly vSwitchId: string;
      readonly securityGroupId: string;
      readonly description: string;
      readonly tags: Readonly<Record<string, string>>;
      readonly clientToken: string;
    }) {
      const action = 'CreateNetworkInterface';
      const { securityGroupId, tags, ...rest } = input;
      const tag = Object.entries(tags).map(([key, value]) => ({ key, value }));
      const wire = { regionId, ...rest, securityGroupIds: [securityGroupId], tag };
      return reply(action, async () =>
        seen(
          action,
          await ecs.call(action, CreateNetworkInterfaceRequest, CreateNetworkInterfaceResponse, wire, signal),
        ),
      );
    },

    attach(eniId: string, instanceId: string) {
      const action = 'AttachNetworkInterface';
      const wire = { regionId, networkInterfaceId: eniId, instanceId };
      return reply(action, () =>
        ecs.call(action, AttachNetworkInterfaceRequest, AttachNetworkInterfaceResponse, wire, signal),
      );
    },

    detach(eniId: string, instanceId: string) {
      const action = 'DetachNetworkInterface';
      const wire = { regionId, networkInterfaceId: eniId, instanceId };
      return reply(action, () =>
        ecs.call(action, DetachNetworkInterfaceRequest, DetachNetworkInterfaceResponse, wire, signal),
      );
    },

    remove(eniId: string) {
      const action = 'DeleteNetworkInterface';
      const wire = { regionId, networkInterfaceId: eniId };
      return reply(action, () =>
        ecs.call(action, DeleteNetworkInterfaceRequest, DeleteNetworkInterfaceResponse, wire, signal),
      );
    },

    assign(eniId: string, count: number, clientToken: string = randomUUID()) {
      const action = 'AssignPrivateIpAddresses';
      const wire = { regionId, networkInterfaceId: eniId, secondaryPrivateIpAddressCount: count, clientToken };
      return reply(action, async () => {
        const body = await ecs.call(
          ...([action, AssignPrivateIpAddressesRequest, AssignPrivateIpAddressesResponse, wire, signal] as const),
        );
        return (body.assignedPrivateIpAddressesSet?.privateIpSet?.privateIpAddress ?? []).flatMap(canonical);
      });
    },

    unassign(eniId: string, ips: readonly string[]) {
      const action = 'UnassignPrivateIpAddresses';
      const wire = { regionId, networkInterfaceId: eniId, privateIpAddress: [...ips] };
      return reply(action, () =>
        ecs.call(action, UnassignPrivateIpAddressesRequest, UnassignPrivateIpAddressesResponse, wire, signal),
      );
    },

    /** One page. */
    describe(filter: {
      readonly eniIds?: readonly string[];
      readonly vSwitchId?: string;
      readonly tags?: Readonly<Record<string, string>>;
      readonly maxResults?: number;
      readonly nextToken?: string;
    }) {
      const action = 'DescribeNetworkInterfaces';
      const { eniIds, tags = {}, ...rest } = filter;
      // Without a value any will do.
      const tag = Object.entries(tags).map(([key, value]) => (value === '' ? { key } : { key, value }));
      const wire = {
        ...{ regionId, maxResults: 100, ...rest },
        ...(eniIds !== undefined && { networkInterfaceId: [...eniIds] }),
        ...(tag.length > 0 && { tag }),
      };
      return reply(action, async () => {
        const body = await ecs.call(
          ...([action, DescribeNetworkInterfacesRequest, DescribeNetworkInterfacesResponse, wire, signal] as const),
        );
        const enis = (body.networkInterfaceSets?.networkInterfaceSet ?? []).map((eni) => seen(action, eni));
        return { enis, nextToken: body.nextToken || null };
      });
    },

    /** How many addresses the vSwitch has left, by its own count; null: it is not known. */
    freeAddresses(vSwitchId: string) {
      const action = 'DescribeVSwitches';
      return reply(action, async () => {
        const wire = { regionId, vSwitchId };
        const body = await vpc.call(action, DescribeVSwitchesRequest, DescribeVSwitchesResponse, wire, signal);
        const found = body.vSwitches?.vSwitch?.find((one) => one.vSwitchId === vSwitchId);
        return found?.availableIpAddressCount ?? null;
      });
    },
  };
}
