/**
 * Events on pods and the node. One that repeats within minutes, by its target, type and reason, raises the count of the first and renews its
 * message: a reason that names a request id each time would otherwise be a new object each time.
 *
 * Source: client-go tools/record (event_compress); core/v1 Event.
 */
import type { KubeEvent } from '../../ports/kubernetes.ts';
import type { ApiClient } from './api-client.ts';
import { isNotFound } from './kubernetes-error.ts';

/** A repetition later than this is an event of its own. */
const REPEAT_MS = 10 * 60_000;
/** Events whose repetitions are recognised; the least recent is forgotten. */
const KNOWN_MAX = 512;
const MESSAGE_MAX_BYTES = 1_024;
const REASON_MAX_CHARS = 128;

export type EventSource = { readonly component: string; readonly host: string };

type Known = { readonly path: string; readonly count: number; readonly lastMs: number };

export class EventRecorder {
  readonly #client: ApiClient;
  readonly #source: EventSource;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, Known>();
  #serial = 0;

  constructor(client: ApiClient, source: EventSource, nowMs: () => number) {
    this.#client = client;
    this.#source = source;
    this.#nowMs = nowMs;
  }

  async record(event: KubeEvent, signal: AbortSignal): Promise<void> {
    const key = JSON.stringify([event.target, event.type, event.reason]);
    const nowMs = this.#nowMs();
    const known = this.#known.get(key);
    if (
      known !== undefined &&
      nowMs - known.lastMs < REPEAT_MS &&
      (await this.#repeat(key, known, event, nowMs, signal))
    )
      return;
    await this.#create(key, event, nowMs, signal);
  }

  /** False when the server has forgotten the event: it keeps them for an hour. */
  async #repeat(
    key: string,
    known: Known,
    { message, times = 1 }: KubeEvent,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<boolean> {
    const count = known.count + times;
    this.#know(key, { ...known, count, lastMs: nowMs });
    const body = { count, message: cut(message), lastTimestamp: timeOf(nowMs) };
    try {
      await this.#client.json(
        { method: 'PATCH', path: known.path, body, contentType: 'application/merge-patch+json' },
        signal,
      );
      return true;
    } catch (error) {
      this.#known.delete(key);
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async #create(key: string, event: KubeEvent, nowMs: number, signal: AbortSignal): Promise<void> {
    const { target, type, times = 1 } = event;
    const reason = event.reason.slice(0, REASON_MAX_CHARS);
    const namespace = target.kind === 'pod' ? target.namespace : 'default';
    this.#serial += 1;
    const name = `${target.name.slice(0, 220)}.${nowMs.toString(16)}${this.#serial.toString(16).padStart(4, '0')}`;
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/events`;
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: involved(target),
      reason,
      message: cut(event.message),
      type,
      source: this.#source,
      reportingComponent: this.#source.component,
      reportingInstance: this.#source.host,
      firstTimestamp: timeOf(nowMs),
      lastTimestamp: timeOf(nowMs),
      count: times,
    };
    await this.#client.json({ method: 'POST', path, body }, signal);
    this.#know(key, { path: `${path}/${name}`, count: times, lastMs: nowMs });
  }

  #know(key: string, known: Known): void {
    this.#known.delete(key);
    this.#known.set(key, known);
    const [oldest] = this.#known.keys();
    if (this.#known.size > KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** `kubectl describe node` finds events by the node's uid and, as kubelet writes them, by its name in place of one. */
function involved(target: KubeEvent['target']): object {
  const { name, uid } = target;
  if (target.kind === 'node') return { apiVersion: 'v1', kind: 'Node', name, uid: uid ?? name };
  const { namespace } = target;
  return { apiVersion: 'v1', kind: 'Pod', namespace, name, ...(uid === null ? {} : { uid }) };
}

/** Cut at a character's boundary, with a sign that it was. */
function cut(message: string): string {
  const bytes = Buffer.from(message);
  if (bytes.length <= MESSAGE_MAX_BYTES) return message;
  return `${bytes
    .subarray(0, MESSAGE_MAX_BYTES - 6)
    .toString()
    .replace(/\ufffd+$/, '')}…`;
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
