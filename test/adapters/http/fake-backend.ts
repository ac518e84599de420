import type { BackendMethod } from '../../../src/core/wire.ts';
import type { Backend, Call } from '../../../src/ports/backend.ts';

export type Seen = { method: BackendMethod; request: Record<string, unknown>; call: Call };

/** A backend that notes what it was asked and answers what the test says. */
export function fakeBackend(answer: (seen: Seen) => unknown): { backend: Backend; seen: Seen[] } {
  const seen: Seen[] = [];
  const method = (name: BackendMethod) => async (request: unknown, call: Call) => {
    const one = { method: name, request: request as Record<string, unknown>, call };
    seen.push(one);
    return (await answer(one)) as never;
  };
  const backend = {
    AllocIP: method('AllocIP'),
    ReleaseIP: method('ReleaseIP'),
    GetIPInfo: method('GetIPInfo'),
    RecordEvent: method('RecordEvent'),
    Gc: method('Gc'),
    Status: method('Status'),
    Check: method('Check'),
  };
  return { backend, seen };
}

/** Resolves when the signal fires: what an allocator that waits does. */
export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

export const fullReply = {
  Success: true,
  IPType: 2,
  IPv4: true,
  NetConfs: [
    {
      BasicInfo: {
        PodIP: { IPv4: '192.168.0.12' },
        PodCIDR: { IPv4: '192.168.0.0/24' },
        GatewayIP: { IPv4: '192.168.0.253' },
        ServiceCIDR: { IPv4: '172.16.0.0/16' },
      },
      ENIInfo: {
        MAC: '00:16:3e:00:00:01',
        GatewayIP: { IPv4: '192.168.0.253' },
        VfId: 0,
        RouteTable: 1004,
        DeviceName: 'eth1',
        Mtu: 1500,
      },
      Pod: { Ingress: '18446744073709551615', Egress: '1' },
      ExtraRoutes: [{ Dst: '10.0.0.0/8' }],
      DefaultRoute: true,
    },
  ],
};
