/** Loaded only where Terway's daemon is the other end: HTTP/2 alone takes longer to load than a whole ADD takes with ours. */
import { grpcBackendClient } from '../adapters/grpc/unary-client.ts';
import type { BackendClient } from '../adapters/http/backend-client.ts';
import type { Libc } from '../adapters/netlink/libc.ts';
import type { Configuration } from './configuration.ts';
import { eniDevices } from './eni-devices.ts';
import { DEFAULT_MTU } from './net-conf.ts';
import { terwayDaemon } from './terway-daemon.ts';

export function terwayConnection({ daemonSocket, eniKinds, mtu }: Configuration, libc: Libc): BackendClient {
  return terwayDaemon(grpcBackendClient(daemonSocket), eniDevices(libc, eniKinds, mtu ?? DEFAULT_MTU));
}
