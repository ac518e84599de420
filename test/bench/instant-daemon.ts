/**
 * A daemon that answers at once, so that a bench of the plugin times the plugin: the JSON socket's AllocIP and ReleaseIP with
 * addresses given out in order and nothing stored. Run as a worker, since the bench blocks its own thread while it times.
 * Source: src/core/wire.ts.
 */
import { createServer } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';
import type { AllocIPReply, NetConf, ReleaseIPReply } from '../../src/core/wire.ts';
import { BACKEND_SERVICE, IP_TYPE } from '../../src/core/wire.ts';

export type InstantDaemonData = {
  readonly socketPath: string;
  readonly eni: { readonly mac: string; readonly device: string; readonly routeTable: number };
  /** Sandbox id to the address it gets. */
  readonly addresses: Readonly<Record<string, string>>;
};

const { socketPath, eni, addresses } = workerData as InstantDaemonData;

function netConf(sandboxId: string): NetConf {
  const address = addresses[sandboxId];
  if (address === undefined) throw new Error(`no address planned for ${sandboxId}`);
  return {
    BasicInfo: {
      PodIP: { IPv4: address },
      PodCIDR: { IPv4: '10.7.0.0/16' },
      GatewayIP: { IPv4: '10.7.255.253' },
      ServiceCIDR: { IPv4: '172.21.0.0/20' },
    },
    ENIInfo: {
      MAC: eni.mac,
      Trunk: false,
      GatewayIP: { IPv4: '10.7.255.253' },
      RouteTable: eni.routeTable,
      DeviceName: eni.device,
      Mtu: 1500,
    },
    IfName: 'eth0',
    DefaultRoute: true,
  };
}

type Named = { readonly K8sPodInfraContainerId: string };
const methods: Readonly<Record<string, (request: Named) => AllocIPReply | ReleaseIPReply | { Succeed: true }>> = {
  AllocIP: (request) => ({
    Success: true,
    IPType: IP_TYPE.eniMultiIp,
    IPv4: true,
    NetConfs: [netConf(request.K8sPodInfraContainerId)],
  }),
  ReleaseIP: (request) => ({ Success: true, IPv4: true, NetConfs: [netConf(request.K8sPodInfraContainerId)] }),
  RecordEvent: () => ({ Succeed: true }),
};

const server = createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    const method = methods[request.url?.replace(`/${BACKEND_SERVICE}/`, '') ?? ''];
    response.writeHead(method ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(method?.(JSON.parse(body)) ?? { code: 'unimplemented', message: `${request.url}` }));
  });
});
server.listen(socketPath, () => parentPort?.postMessage('listening'));
