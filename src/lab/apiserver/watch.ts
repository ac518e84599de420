/**
 * One open watch: the past it asked for, then every change that its selector sees, a line of JSON each.
 *
 * A change of labels or fields can bring an object into the selection or take it out: the watch then says ADDED or DELETED.
 * Source: Kubernetes API concepts, "Efficient detection of changes" and "Watch bookmarks"; apiserver storage/cacher (a version
 * that is too old is told in the stream, with status 200).
 */
import type { ServerResponse } from 'node:http';
import { ApiError, expired, failureStatus, tooLargeVersion } from './api-error.ts';
import type { JsonObject, KubeObject } from './kube-object.ts';
import { selectorOf, wholeNumber } from './list.ts';
import type { ApiRequest } from './route.ts';
import type { Selector } from './selector.ts';
import type { Change, ObjectStore } from './store.ts';

/** A reader that leaves this much unread is cut off and has to come back. */
export const UNREAD_MAX_BYTES = 4 << 20;

export type WatchOptions = {
  readonly store: ObjectStore;
  readonly request: ApiRequest;
  readonly response: ServerResponse;
  /** Between bookmarks, for those who asked for them. */
  readonly bookmarkMs: number;
  /** A watch ends after this when the client names no timeoutSeconds. */
  readonly timeoutMs: number;
  /** How a version that is too old is refused: in the stream, as a watch cache does, or as the HTTP status. */
  readonly gone: 'event' | 'status';
};

export class WatchStream {
  readonly #response: ServerResponse;
  readonly #selector: Selector;
  readonly #options: WatchOptions;
  readonly #onClose: (() => void)[] = [];
  #seen: number;

  /** Throws ApiError as long as nothing has been sent. */
  constructor(options: WatchOptions) {
    const { store, request, response } = options;
    this.#options = options;
    this.#response = response;
    this.#selector = selectorOf(request);
    if (request.query.get('sendInitialEvents') === 'true') {
      const message = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
      throw new ApiError(
        422,
        'Invalid',
        `ListOptions.meta.k8s.io "" is invalid: sendInitialEvents: Forbidden: ${message}`,
      );
    }
    const from = wholeNumber(request.query, 'resourceVersion') ?? 0;
    if (from > store.revision) throw tooLargeVersion(from, store.revision);
    const past = from === 0 ? [] : store.changesSince(from);
    const tooOld = expired(`too old resource version: ${from} (${store.compactedRevision})`);
    if (past === null && options.gone === 'status') throw tooOld;
    this.#seen = store.revision;
    response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
    response.flushHeaders();
    if (past === null) {
      this.expire(tooOld);
      return;
    }
    const present = from === 0 ? store.list(request.resource, request.namespace).filter(this.#selector) : [];
    for (const object of present) this.#send('ADDED', object);
    for (const change of past) this.#change(change);
    this.#onClose.push(store.subscribe((change) => this.#change(change)));
    this.#startTimers();
    response.on('close', () => this.#stop());
  }

  onClose(callback: () => void): void {
    if (this.#response.destroyed || this.#response.writableEnded) callback();
    else this.#onClose.push(callback);
  }

  /** Ends the stream as a server does whose timeout is over. */
  end(): void {
    this.#stop();
    if (!this.#response.writableEnded) this.#response.end();
  }

  /** Tears the connection, in the middle of a line if there is one. */
  cut(): void {
    this.#stop();
    this.#response.destroy();
  }

  /** Tells the client in the stream that its version is gone, and ends. */
  expire(error: ApiError = expired(`too old resource version: ${this.#seen}`)): void {
    this.#send('ERROR', failureStatus(error));
    this.end();
  }

  bookmark(): void {
    const { request, store } = this.#options;
    if (request.query.get('allowWatchBookmarks') !== 'true') return;
    const metadata = { resourceVersion: String(store.revision), creationTimestamp: null };
    this.#send('BOOKMARK', { kind: request.resource.kind, apiVersion: request.resource.apiVersion, metadata });
  }

  #startTimers(): void {
    const seconds = wholeNumber(this.#options.request.query, 'timeoutSeconds');
    const end = setTimeout(
      () => {
        this.bookmark();
        this.end();
      },
      seconds === null || seconds === 0 ? this.#options.timeoutMs : seconds * 1_000,
    );
    const bookmarks = setInterval(() => this.bookmark(), this.#options.bookmarkMs);
    this.#onClose.push(
      () => clearTimeout(end),
      () => clearInterval(bookmarks),
    );
  }

  #change(change: Change): void {
    const { request } = this.#options;
    this.#seen = change.revision;
    if (change.resource !== request.resource) return;
    if (request.namespace !== null && change.object.metadata.namespace !== request.namespace) return;
    const matched = change.before !== null && this.#selector(change.before);
    const matches = change.type !== 'DELETED' && this.#selector(change.object);
    if (matches) this.#send(matched ? 'MODIFIED' : 'ADDED', change.object);
    else if (matched) this.#send('DELETED', change.type === 'DELETED' ? change.object : leaving(change));
  }

  #send(type: string, object: JsonObject): void {
    if (this.#response.writableEnded || this.#response.destroyed) return;
    this.#response.write(`${JSON.stringify({ type, object })}\n`);
    if (this.#response.writableLength > UNREAD_MAX_BYTES) this.cut();
  }

  #stop(): void {
    for (const callback of this.#onClose.splice(0)) callback();
  }
}

/** An object that left the selection is shown as it last was inside, with the version that took it out. */
function leaving({ before, object, revision }: Change): KubeObject {
  const last = before ?? object;
  return { ...last, metadata: { ...last.metadata, resourceVersion: String(revision) } };
}
