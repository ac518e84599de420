/**
 * What both transports do with a request once its bytes are read: check its shape, bound its time, call the backend once, and let
 * exactly one answer out.
 */
import { z } from 'zod';
import { EnactorError } from '../../core/errors.ts';
import { DAEMON_DEADLINE_MS, innerTimeoutMs } from '../../core/limits.ts';
import { traceParentIn } from '../../core/trace-parent.ts';
import type { BackendMethod, BackendMethods } from '../../core/wire.ts';
import type { Backend } from '../../ports/backend.ts';
import { systemClock } from '../clock/steady-clock.ts';

/** One request, JSON or proto. The largest real one is Gc's, with every attachment of a node: 10,000 take about 1 MB. */
export const REQUEST_MAX_BYTES = 2 * 1024 * 1024;

const text = z.string().default('');
const ipSet = z.object({ IPv4: z.string().optional(), IPv6: z.string().optional() });
/** More than an interface of a pod has. */
const POD_IPS_MAX = 64;
const podIps = z.array(z.string()).max(POD_IPS_MAX).default([]);
const podFields = { K8sPodName: text, K8sPodNamespace: text, K8sPodInfraContainerId: text };

/** Unknown fields are dropped: a newer caller may know more. A field that is absent is the proto's default. */
const requests = {
  AllocIP: z.object({ ...podFields, Netns: text, IfName: text, NetworkName: text, PodUid: text }),
  ReleaseIP: z.object({
    ...podFields,
    IPType: z.number().int().optional(),
    IPv4Addr: ipSet.nullish(),
    MacAddr: z.string().optional(),
    Reason: text,
    IfName: text,
    NetworkName: text,
    PodUid: text,
    Netns: text,
    PodIPs: podIps,
  }),
  GetIPInfo: z.object({ ...podFields, IfName: text, Netns: text, PodIPs: podIps }),
  RecordEvent: z.object({
    EventTarget: z.number().int().min(0).max(1).default(0),
    K8sPodName: text,
    K8sPodNamespace: text,
    EventType: z.number().int().min(0).max(1).default(0),
    Reason: text,
    Message: text,
  }),
  Gc: z.object({
    NetworkName: text,
    // Not `[]` when it is missing: that would mean that nothing is valid.
    ValidAttachments: z.array(z.object({ ContainerId: z.string().min(1), IfName: z.string().min(1) })),
  }),
  Status: z.object({ NetworkName: text }),
  Check: z.object({ ContainerId: text, IfName: text }),
} as const satisfies Record<BackendMethod, z.ZodType>;

export function isBackendMethod(name: string): name is BackendMethod {
  return Object.hasOwn(requests, name);
}

export type Caller = {
  /** The caller's own time-out, or null when it named none. */
  readonly timeoutMs: number | null;
  /** Fires when the caller disconnects or cancels. */
  readonly gone: AbortSignal;
  /** Its `traceparent`, as it came. */
  readonly trace?: string | undefined;
};

/** Rejects with EnactorError: `invalidArgument` naming the field, `deadline`, `cancelled`, or what the backend says. */
export async function dispatch<M extends BackendMethod>(
  backend: Backend,
  method: M,
  wire: unknown,
  caller: Caller,
): Promise<BackendMethods[M]['reply']> {
  const request = parsed(method, wire);
  const timeoutMs = Math.max(0, Math.min(caller.timeoutMs ?? DAEMON_DEADLINE_MS, DAEMON_DEADLINE_MS));
  const ended = new AbortController();
  const untilMs = systemClock.nowMs() + innerTimeoutMs(timeoutMs);

  return await new Promise((resolve, reject) => {
    const end = (failure: EnactorError) => {
      ended.abort(failure);
      reject(failure);
    };
    const leave = () => end(new EnactorError('cancelled', `${method}: the caller went away`));
    const late = () => end(new EnactorError('deadline', `${method}: no answer within ${timeoutMs} ms`));
    const timer = setTimeout(late, timeoutMs);
    caller.gone.addEventListener('abort', leave, { once: true });
    if (caller.gone.aborted) leave();
    const call = async () => {
      ended.signal.throwIfAborted();
      return await (backend[method] as Backend[M])(request, {
        signal: ended.signal,
        untilMs,
        trace: traceParentIn(caller.trace),
      });
    };
    call()
      .then((reply) => resolve(reply as BackendMethods[M]['reply']), reject)
      .finally(() => {
        clearTimeout(timer);
        caller.gone.removeEventListener('abort', leave);
      });
  });
}

function parsed<M extends BackendMethod>(method: M, wire: unknown): BackendMethods[M]['request'] {
  const result = requests[method].safeParse(wire);
  if (result.success) return result.data as BackendMethods[M]['request'];
  const { path, message } = result.error.issues[0] ?? { path: [], message: 'unreadable' };
  throw new EnactorError('invalidArgument', `${path.length === 0 ? 'request' : path.join('.')}: ${message}`);
}
