/**
 * What a server asks a node's kubelet for on a client's behalf: a container's log, and a command that is run in it (`kubectl logs`, `kubectl exec`).
 *
 * Limits: a command is run to its end and then told, with nothing written to it, and without a terminal of its own; over WebSocket alone, as kubectl 1.30 and later speak by
 * themselves (older ones: SPDY, which is refused). A log is told as it is: neither followed, nor cut.
 * Source: Kubernetes, pkg/apis/core types PodExecOptions; apimachinery pkg/util/remotecommand/constants.go (protocol v5.channel.k8s.io: a byte for the
 * channel before each message; 1 and 2 are what the command writes, 3 is its end as a Status); KEP-4006.
 */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { ApiError, badRequest, type Status } from './api-error.ts';
import { at, isJsonObject, type JsonObject, type KubeObject } from './kube-object.ts';
import type { ApiRequest } from './route.ts';

/** `stdout`: bytes where it may be no text. */
export type Ran = { readonly stdout: string | Buffer; readonly stderr: string; readonly exitCode: number };

/** Of one node. */
export type PodAccess = {
  /** Rejects for a container that has none. */
  log(pod: KubeObject, container: string): Promise<string>;
  exec(pod: KubeObject, container: string, command: readonly string[]): Promise<Ran>;
};

/** Node -> who answers for its pods. */
export type Kubelets = ReadonlyMap<string, PodAccess>;

const PROTOCOL = 'v5.channel.k8s.io';
const CHANNEL = { stdout: 1, stderr: 2, error: 3 } as const;
const CLOSE_NORMAL = 1_000;

/** The one that is named, or the only one. Throws ApiError 400 when it has to be said which. */
export function containerOf({ query }: ApiRequest, pod: KubeObject): string {
  const named = query.get('container') ?? '';
  const containers = at(pod, 'spec.containers');
  const names = (Array.isArray(containers) ? containers : []).map((one) => (isJsonObject(one) ? `${one.name}` : ''));
  if (named !== '') return named;
  if (names.length === 1) return names[0] ?? '';
  throw badRequest(
    `a container name must be specified for pod ${pod.metadata.name}, choose one of: [${names.join(' ')}]`,
  );
}

/** Throws ApiError 500 as a server does that cannot reach the node. */
export function kubeletOf(kubelets: Kubelets, pod: KubeObject): PodAccess {
  const node = at(pod, 'spec.nodeName');
  const found = typeof node === 'string' ? kubelets.get(node) : undefined;
  if (found === undefined) throw new ApiError(500, 'InternalError', `no kubelet answers for pod ${pod.metadata.name}`);
  return found;
}

/** Takes the connection over, and ends it when the command has. */
export async function execOver(
  connection: {
    readonly request: IncomingMessage;
    readonly socket: Duplex;
    readonly head: Buffer;
    /** Whose reader has set a terminal so that lines have to end as on one. */
    readonly isTerminal: boolean;
  },
  run: () => Promise<Ran>,
): Promise<void> {
  const { request, socket, head, isTerminal } = connection;
  const server = new WebSocketServer({
    noServer: true,
    handleProtocols: (said) => (said.has(PROTOCOL) ? PROTOCOL : false),
  });
  await new Promise<void>((resolve) => {
    server.handleUpgrade(request, socket, head, (web) => {
      const send = (channel: number, said: string | Buffer) => {
        if (said.length > 0) web.send(Buffer.concat([Buffer.from([channel]), Buffer.from(said)]));
      };
      web.once('close', () => resolve());
      web.on('error', () => web.terminate());
      run()
        .then(({ stdout, stderr, exitCode }) => {
          send(CHANNEL.stdout, isTerminal ? stdout.toString().replaceAll('\n', '\r\n') : stdout);
          send(CHANNEL.stderr, stderr);
          return ended(exitCode);
        })
        .catch((error: unknown) => failed(error instanceof Error ? error.message : String(error)))
        .then((status) => {
          send(CHANNEL.error, JSON.stringify(status));
          web.close(CLOSE_NORMAL);
        });
    });
  });
}

type Ended = Omit<Status, 'code'> & JsonObject;
const status = { kind: 'Status', apiVersion: 'v1', metadata: {} } as const;

function ended(exitCode: number): Ended {
  if (exitCode === 0) return { ...status, status: 'Success' };
  const message = `command terminated with non-zero exit code: exit code ${exitCode}`;
  const causes = [{ reason: 'ExitCode', message: `${exitCode}` }];
  return { ...status, status: 'Failure', reason: 'NonZeroExitCode', message, details: { causes } };
}

function failed(message: string): Ended {
  return { ...status, status: 'Failure', reason: 'InternalError', message };
}

/** A client that speaks SPDY, and whoever asks for what is not upgraded. */
export function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket' && (headers['sec-websocket-protocol'] ?? '').includes(PROTOCOL);
}
