/**
 * Terway's daemon in the place of ours, for our plugin alone: what it does not say or do is done here, as Terway's plugin does it.
 *
 * It leaves the ENI's device to its plugin and names no table (which is 1000 + the device's index there); its ReleaseIP does not tell what was
 * released, so that it is asked before; it collects and checks by itself, and has no word for STATUS: a socket that answers is ready.
 * Source: Terway rpc.proto, its plugin's ADD and DEL; cases/field F9.
 */
import { type BackendClient, BackendError, type CallOptions } from '../adapters/http/backend-client.ts';
import { OWN_ENI_TABLE } from '../core/own-eni.ts';
import {
  type BackendMethod,
  type BackendMethods,
  type GetInfoReply,
  IP_TYPE,
  type NetConf,
  type ReleaseIPReply,
  type ReleaseIPRequest,
} from '../core/wire.ts';

export type EniAsTold = {
  readonly mac: string;
  /** Of the vSwitch. */
  readonly gateway: string;
  /** null: the pod has no IPv6 address. */
  readonly ipv6Gateway: string | null;
};

export interface EniDevices {
  /** Waits for the device and readies it for pods; the table that leads over it. Rejects with the sentence to show. */
  ready(eni: EniAsTold, signal?: AbortSignal): Promise<number>;
  /** The table of a device that is ready; null: no such device is here. */
  tableOf(mac: string): number | null;
}

export function terwayDaemon(client: BackendClient, devices: EniDevices): BackendClient {
  const ask: BackendClient['call'] = client.call;
  const answers: { [M in BackendMethod]: Call<M> } = {
    async AllocIP(request, options) {
      const reply = await ask('AllocIP', request, options);
      try {
        const ready = (conf: NetConf) => readied(conf, reply.IPType, devices, options.signal);
        return { ...reply, NetConfs: await Promise.all((reply.NetConfs ?? []).map(ready)) };
      } catch (error) {
        // As after an answer that came in pieces: there is an address, and it is given back.
        throw new BackendError('broken', error instanceof Error ? error.message : String(error), error);
      }
    },
    async GetIPInfo(request, options) {
      const reply = await ask('GetIPInfo', request, options);
      return { ...reply, NetConfs: (reply.NetConfs ?? []).map((conf) => found(conf, reply.IPType, devices)) };
    },
    ReleaseIP: (request, options) => release(ask, request, options),
    RecordEvent: (request, options) => ask('RecordEvent', request, options),
    Gc: async () => ({}),
    Check: async () => ({}),
    async Status(_, options) {
      // Whatever it says of a pod that there is not: it answers.
      const nobody = { K8sPodName: '', K8sPodNamespace: '', K8sPodInfraContainerId: '' };
      await ask('GetIPInfo', nobody, options).catch((error: unknown) => {
        if (!(error instanceof BackendError) || SILENT.includes(error.code)) throw error;
      });
      return {};
    },
  };
  return {
    socketPath: client.socketPath,
    call: (method, request, options) => answers[method](request, options),
  };
}

type Call<M extends BackendMethod> = (
  request: BackendMethods[M]['request'],
  options: CallOptions,
) => Promise<BackendMethods[M]['reply']>;

const SILENT: readonly string[] = ['unreachable', 'broken', 'deadline_exceeded', 'canceled'];

/** What the sandbox has is asked first: a failure of that is no reason to keep its address. */
async function release(
  ask: BackendClient['call'],
  request: ReleaseIPRequest,
  options: CallOptions,
): Promise<ReleaseIPReply> {
  const { K8sPodName, K8sPodNamespace, K8sPodInfraContainerId, IfName } = request;
  const sandbox = { K8sPodName, K8sPodNamespace, K8sPodInfraContainerId };
  const info: GetInfoReply = await ask(
    'GetIPInfo',
    { ...sandbox, ...(IfName !== undefined && { IfName }) },
    options,
  ).catch((error: unknown) => {
    if (error instanceof BackendError && !SILENT.includes(error.code)) return {};
    throw error;
  });
  const reply = await ask('ReleaseIP', request, options);
  return {
    ...reply,
    ...(info.NetConfs !== undefined && { NetConfs: info.NetConfs }),
    ...(info.IPType !== undefined && { IPType: info.IPType }),
  };
}

async function readied(
  conf: NetConf,
  type: number | undefined,
  devices: EniDevices,
  signal?: AbortSignal,
): Promise<NetConf> {
  if (!needsTable(conf, type)) return withTable(conf, type);
  const { mac, gateway, ipv6Gateway } = eniIn(conf);
  if (mac === '' || gateway === '') return conf; // the reply is refused where it is read
  return withTable(conf, type, await devices.ready({ mac, gateway, ipv6Gateway }, signal));
}

function found(conf: NetConf, type: number | undefined, devices: EniDevices): NetConf {
  return needsTable(conf, type) ? withTable(conf, type, devices.tableOf(eniIn(conf).mac) ?? 0) : withTable(conf, type);
}

const needsTable = ({ ENIInfo }: NetConf, type: number | undefined): boolean =>
  type === IP_TYPE.eniMultiIp && ENIInfo !== undefined && (ENIInfo.RouteTable ?? 0) === 0;

function withTable(conf: NetConf, type: number | undefined, table?: number): NetConf {
  const { ENIInfo } = conf;
  const routeTable = type === IP_TYPE.vpcEni ? OWN_ENI_TABLE : table;
  return ENIInfo === undefined || routeTable === undefined
    ? conf
    : { ...conf, ENIInfo: { ...ENIInfo, RouteTable: routeTable } };
}

function eniIn({ BasicInfo, ENIInfo }: NetConf): EniAsTold {
  const { IPv4 = '', IPv6 = '' } = BasicInfo?.GatewayIP ?? ENIInfo?.GatewayIP ?? {};
  return { mac: ENIInfo?.MAC ?? '', gateway: IPv4, ipv6Gateway: IPv6 === '' ? null : IPv6 };
}
