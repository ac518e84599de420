/** A node of 600 pods as the debug socket and the tracing service tell it: more than any pipe holds. */
import { mkdtempSync, rmSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { charts } from '../../actors/chart-data.ts';
import { grpcServer } from '../../src/adapters/grpc/grpc-server.ts';
import { tracingOver } from '../../src/adapters/grpc/tracing.ts';
import { debugServer } from '../../src/adapters/http/debug-server.ts';
import { bindUnixSocket } from '../../src/adapters/http/unix-socket.ts';
import { silentLog } from '../../src/adapters/logging/silent-log.ts';
import { EnactorError } from '../../src/core/errors.ts';
import type { Input } from '../../src/core/input-journal.ts';
import { defaultSettings } from '../../src/core/settings.ts';
import type { Inspected } from '../../src/ports/inspected.ts';
import type { EniReport, Introspection, NodeReport } from '../../src/ports/introspection.ts';
import { fakeBackend } from '../adapters/http/fake-backend.ts';
import { leaseOf } from '../daemon/lease-of.ts';

export const PODS = 600;
const PER_ENI = 15;
const INPUTS = 2_500;

const podName = (index: number): string => `web-${String(index).padStart(4, '0')}`;

function bigReport(): NodeReport {
  const leases = Array.from({ length: PODS }, (_, index) => {
    const lease = leaseOf(`${String(index).padStart(12, '0')}${'c'.repeat(52)}`);
    const ipv4 = `10.${index >> 8}.${index & 255}.7`;
    const pod = { namespace: 'default', name: podName(index), uid: `uid-${index}` };
    const grant = { ...lease.grant, address: { ipv4, ipv6: null } };
    return { ...lease, sandbox: { ...lease.sandbox, pod }, grant };
  });
  const enis = Array.from({ length: PODS / PER_ENI }, (_, slot): EniReport => {
    const held = leases.slice(slot * PER_ENI, (slot + 1) * PER_ENI);
    return {
      ...{ actor: `eni:${slot}`, state: 'inUse.resting.quiet', sinceMs: 0, eniId: `eni-${slot}` },
      ...{ mac: '00:16:3e:00:00:01', vSwitchId: 'vsw-1', device: `eth${slot}`, routeTable: 1004 },
      ...{ waiting: 0, lastFailure: null },
      addresses: held.map(({ sandbox: { pod }, grant }) => {
        return { ...grant.address, state: 'bound' as const, pod: `${pod.namespace}/${pod.name}`, untilMs: null };
      }),
    };
  });
  const machines = leases.map(({ sandbox }) => ({
    ...{ path: `node/leases/lease:${sandbox.containerId}/eth0`, chart: 'lease', state: 'bound', sinceMs: 0 },
  }));
  const root = { path: 'node', chart: 'node', state: 'running.serving', sinceMs: 0 };
  return { state: 'running.serving', missing: [], enis, pool: null, leases, waiting: [], actors: [root, ...machines] };
}

export type BigNode = {
  readonly debugSocket: string;
  readonly grpcSocket: string;
  readonly server: Server;
  failPages(): void;
};

export async function bigNode(t: Test): Promise<BigNode> {
  const dir = mkdtempSync(join(tmpdir(), 'b'));
  const report = bigReport();
  let failing = false;
  const inputs = Array.from({ length: INPUTS }, (_, index): Input => {
    const event = { type: 'allocate', sandbox: `c${index}/eth0`, pod: `default/${podName(index)}`, atMs: index };
    return { seq: index + 1, atMs: index, actor: 'node', event };
  });
  const introspection: Introspection = {
    report: () => report,
    journal: ({ since, limit }) => {
      // What a daemon does whose second page meets a fault.
      if (failing && since > 0) throw new EnactorError('internal', 'the second page failed');
      const page = inputs.filter(({ seq }) => seq > since).slice(0, limit);
      const next = page.at(-1)?.seq ?? since;
      return { inputs: page, next, lastSeq: INPUTS, firstSeq: 1, unwritten: 0 };
    },
    actor: () => null,
    charts,
    life: () => ({ startMs: 0, seqBefore: 0, settings: { ...defaultSettings, nodeName: 'n' } }),
    why: (pod) => ({
      ...{ pod, verdict: 'bound', answer: `${pod} is well`, leases: [], decisions: [], stages: [], requests: [] },
      ...{ considered: [], underWay: [], nextTryMs: null, refusal: null },
    }),
    watch: (listener) => {
      for (const { path, chart, state } of report.actors) {
        listener({ seq: 0, atMs: 0, kind: 'actor', actor: path, chart, state } satisfies Inspected);
      }
      // A reader that has left is noticed by the next write: on a node something happens all the time.
      const going = setInterval(() => {
        listener({ seq: 0, atMs: 0, kind: 'event', actor: 'node', from: null, event: { type: 'stop' } });
      }, 50);
      return () => clearInterval(going);
    },
    command: () => {},
  };
  const server = debugServer(() => introspection);
  const { backend } = fakeBackend(() => ({}));
  const grpc = grpcServer(backend, silentLog, tracingOver({ report: () => report, configPath: '/etc/eni/eni_conf' }));
  const paths = { debugSocket: join(dir, 'd'), grpcSocket: join(dir, 'g') };
  const sockets = [
    await bindUnixSocket(server, paths.debugSocket),
    await bindUnixSocket(grpc.listener, paths.grpcSocket),
  ];
  t.teardown(() => {
    for (const socket of sockets) socket.close();
    server.closeAllConnections();
    grpc.destroy();
    rmSync(dir, { recursive: true, force: true });
  });
  return {
    ...paths,
    server,
    failPages: () => {
      failing = true;
    },
  };
}
