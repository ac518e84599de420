/**
 * A small Kubernetes API server for the lab, over TLS, in memory: what the daemon asks for, and what `kubectl` needs to follow deploy/install.md.
 *
 * Limits: no controllers (src/lab/controllers has those of DaemonSets), schemas, server-side apply, dry run or protobuf; values of fields are
 * checked where it matters here; events are core/v1 only; a namespace goes at once with its content.
 */
import { randomBytes } from 'node:crypto';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, isIPv6, type Socket } from 'node:net';
import { Admin } from './admin.ts';
import { administrator, serviceAccount, type User } from './authenticate.ts';
import { makeCertificates } from './certificates.ts';
import type { JsonObject } from './kube-object.ts';
import { kubeconfig, writeKubeconfig } from './kubeconfig.ts';
import { Lifecycle } from './lifecycle.ts';
import { Lister } from './list.ts';
import type { PodAccess } from './pod-access.ts';
import { type FieldCheck, type RequestHandler, requestHandler, upgradeHandler } from './request-handler.ts';
import { resourceNamed } from './resource.ts';
import { ObjectStore } from './store.ts';

export type ApiServerOptions = {
  /** Where to listen; 127.0.0.1 and a free port if not told. */
  readonly listen?: { readonly host?: string; readonly port?: number };
  /**
   * Runs the call that binds the socket, without a host and in one synchronous stretch: a caller that wants the server in another
   * network namespace enters it around `bind`. Then `listen.host` only names the server in its URL.
   */
  readonly within?: (bind: () => void) => void;
  /** Further names and addresses that clients dial, for the certificate. */
  readonly hosts?: readonly string[];
  /** Also written to this file, mode 0600. */
  readonly kubeconfigPath?: string;
  readonly now?: () => number;
  /** Pods go by themselves when their grace period is over (default), as if a kubelet had said so. */
  readonly endGrace?: boolean;
  /** Without it no client is told that fields could be checked. */
  readonly checkFields?: FieldCheck;
  readonly bookmarkMs?: number;
  readonly watchTimeoutMs?: number;
};

export type ApiServer = {
  readonly url: string;
  /** With a bearer token; JSON, which is YAML. */
  readonly kubeconfig: JsonObject;
  /** The same with a client certificate. */
  readonly certificateKubeconfig: JsonObject;
  /** PEM. */
  readonly ca: string;
  readonly token: string;
  readonly store: ObjectStore;
  /** Creates, changes and deletes without HTTP, under the same rules. */
  readonly lifecycle: Lifecycle;
  readonly admin: Admin;
  readonly handler: RequestHandler;
  /** From now on only the token that this returns is taken for the administrator's; what is open stays open. */
  rotateToken(): string;
  /** Of a pod on a node, for as long as the server lives: its requests are judged by RBAC and admission policies. */
  issueToken(account: Parameters<typeof serviceAccount>[0]): string;
  /** Who answers for the pods of a node from now on; until the returned function is called. */
  registerKubelet(node: string, access: PodAccess): () => void;
  /** Calls back at every TLS connection from now on. */
  onConnection(callback: () => void): void;
  /** Ends watches, drops connections, frees the port. Idempotent. */
  close(): Promise<void>;
};

const USER = 'enactor-lab-admin';
const NAMESPACES = ['default', 'kube-system', 'kube-public', 'kube-node-lease'];
const BOOKMARK_MS = 60_000; // as the real watch cache
const WATCH_TIMEOUT_MS = 30 * 60_000; // the real one draws from 30 to 60 minutes

export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const { host = '127.0.0.1', port = 0 } = options.listen ?? {};
  const hosts = [
    ...new Set([host, '127.0.0.1', '::1', 'localhost', 'kubernetes.default.svc', ...(options.hosts ?? [])]),
  ];
  const certificates = await makeCertificates(hosts, USER, 'system:masters');
  let token = newToken();
  const store = new ObjectStore();
  const now = options.now ?? Date.now;
  const lifecycle = new Lifecycle({ store, now, endGrace: options.endGrace ?? true });
  const namespaces = resourceNamed('namespaces');
  for (const name of NAMESPACES) if (namespaces !== null) lifecycle.create(namespaces, null, { metadata: { name } });
  const admin = new Admin(store);
  const tokens = new Map<string, User>([[token, administrator(USER)]]);
  const kubelets = new Map<string, PodAccess>();
  const handling = {
    store,
    lifecycle,
    lister: new Lister(store),
    admin,
    tokens,
    kubelets,
    checkFields: options.checkFields ?? null,
    now,
    bookmarkMs: options.bookmarkMs ?? BOOKMARK_MS,
    watchTimeoutMs: options.watchTimeoutMs ?? WATCH_TIMEOUT_MS,
  };
  const handler = requestHandler(handling);
  const { ca, server: own, client } = certificates;
  // A certificate is asked for and checked, but a bearer token will do instead.
  const tls = { cert: own.certificate, key: own.key, ca, requestCert: true, rejectUnauthorized: false };
  const server = createServer(tls, handler).on('upgrade', upgradeHandler(handling));
  server.keepAliveTimeout = 60_000;
  const sockets = trackedSockets(server);
  await listening(server, port, host, options.within ?? null);
  const url = `https://${isIPv6(host) ? `[${host}]` : host}:${boundPort(server)}`;
  const config = kubeconfig({ url, ca, user: USER, credentials: { token } });
  if (options.kubeconfigPath !== undefined) await writeKubeconfig(options.kubeconfigPath, config);
  return {
    url,
    kubeconfig: config,
    certificateKubeconfig: kubeconfig({ url, ca, user: USER, credentials: client }),
    ca,
    token,
    store,
    lifecycle,
    admin,
    handler,
    rotateToken: () => {
      tokens.delete(token);
      token = newToken();
      tokens.set(token, administrator(USER));
      return token;
    },
    issueToken: (account) => {
      const issued = newToken();
      tokens.set(issued, serviceAccount(account));
      return issued;
    },
    registerKubelet: (node, access) => {
      kubelets.set(node, access);
      return () => void kubelets.delete(node);
    },
    onConnection: (callback) => void server.on('secureConnection', callback),
    close: () => {
      lifecycle.close();
      admin.endWatches();
      return closed(server, sockets);
    },
  };
}

const newToken = (): string => randomBytes(24).toString('base64url');

function listening(
  server: Server,
  port: number,
  host: string,
  within: ApiServerOptions['within'] | null,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('listening', resolve).once('error', reject);
    if (within === null || within === undefined) server.listen(port, host);
    else within(() => void server.listen(port));
  });
}

function boundPort(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  return address === null || typeof address === 'string' ? 0 : address.port;
}

/** All of them: `closeAllConnections` overlooks those whose TLS handshake is under way, and they would be served after it. */
function trackedSockets(server: Server): Set<Socket> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}

function closed(server: Server, sockets: ReadonlySet<Socket>): Promise<void> {
  return new Promise((resolve) => {
    if (!server.listening) return resolve();
    server.close(() => resolve());
    for (const socket of sockets) socket.destroy();
  });
}
