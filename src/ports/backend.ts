/**
 * The node's service as its callers see it, whatever the transport: wire request in, wire reply out. The gRPC and the JSON server
 * both stand on this; the daemon implements it over Allocator and Kubernetes.
 */
import type { BackendMethod, BackendMethods } from '../core/wire.ts';

export type Call = {
  /** Fires when the caller went away or its deadline passed: nobody reads an answer any more. */
  readonly signal: AbortSignal;
  /** A little before the caller's deadline, and at most the daemon's own: until then a cause can still be told. */
  readonly untilMs: number;
  /** The trace that the call is a part of, for the log. */
  readonly trace?: string | null;
};

/** Methods reject with EnactorError. */
export type Backend = {
  readonly [M in BackendMethod]: (
    request: BackendMethods[M]['request'],
    call: Call,
  ) => Promise<BackendMethods[M]['reply']>;
};

/** Those of Terway's own service. */
export type TerwayBackend = Pick<Backend, 'AllocIP' | 'ReleaseIP' | 'GetIPInfo' | 'RecordEvent'>;
export type NodeService = Pick<Backend, 'Gc' | 'Status' | 'Check'>;
