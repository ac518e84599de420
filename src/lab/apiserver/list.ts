/**
 * A list at one revision, in pages if asked.
 *
 * A continue token names a snapshot: all pages of a list show the same moment. Snapshots are few; one that was evicted or compacted
 * away answers 410 as an expired token does, and the client starts over.
 * Source: Kubernetes API concepts, "Retrieving large results sets in chunks", "Resource versions".
 */
import { randomUUID } from 'node:crypto';
import { badRequest, expired, tooLargeVersion } from './api-error.ts';
import type { JsonObject, KubeObject } from './kube-object.ts';
import type { ApiRequest } from './route.ts';
import { fieldSelector, labelSelector, type Selector } from './selector.ts';
import type { ObjectStore } from './store.ts';

export const SNAPSHOTS_MAX = 64;

const EXPIRED_TOKEN =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.';

type Snapshot = { readonly revision: number; readonly items: readonly KubeObject[]; readonly isFiltered: boolean };

export class Lister {
  readonly #store: ObjectStore;
  readonly #snapshots = new Map<string, Snapshot>();

  constructor(store: ObjectStore) {
    this.#store = store;
  }

  list(request: ApiRequest): JsonObject {
    const { query, resource } = request;
    const limit = wholeNumber(query, 'limit') ?? 0;
    const token = query.get('continue') ?? '';
    const { id, offset } = token === '' ? { id: randomUUID(), offset: 0 } : parseToken(token);
    const snapshot = token === '' ? this.#take(request) : this.#find(id);
    const end = limit === 0 ? snapshot.items.length : offset + limit;
    const left = snapshot.items.length - end;
    if (left > 0) this.#keep(id, snapshot);
    const metadata = {
      resourceVersion: String(snapshot.revision),
      ...(left > 0 ? { continue: Buffer.from(`${id} ${end}`).toString('base64url') } : {}),
      // How many are left is told only when nothing was filtered out.
      ...(left > 0 && !snapshot.isFiltered ? { remainingItemCount: left } : {}),
    };
    return {
      kind: `${resource.kind}List`,
      apiVersion: resource.apiVersion,
      metadata,
      items: snapshot.items.slice(offset, end),
    };
  }

  #take(request: ApiRequest): Snapshot {
    const asked = wholeNumber(request.query, 'resourceVersion') ?? 0;
    const { revision } = this.#store;
    if (asked > revision) throw tooLargeVersion(asked, revision);
    if (request.query.get('resourceVersionMatch') === 'Exact' && asked !== revision) {
      throw expired('The provided resource version is not available.');
    }
    const all = this.#store.list(request.resource, request.namespace);
    const items = all.filter(selectorOf(request));
    const isFiltered = ['labelSelector', 'fieldSelector'].some((key) => (request.query.get(key) ?? '') !== '');
    return { revision, items, isFiltered };
  }

  #find(id: string): Snapshot {
    const snapshot = this.#snapshots.get(id);
    if (snapshot === undefined || snapshot.revision < this.#store.compactedRevision) throw expired(EXPIRED_TOKEN);
    return snapshot;
  }

  #keep(id: string, snapshot: Snapshot): void {
    this.#snapshots.delete(id);
    this.#snapshots.set(id, snapshot);
    const [oldest] = this.#snapshots.keys();
    if (this.#snapshots.size > SNAPSHOTS_MAX && oldest !== undefined) this.#snapshots.delete(oldest);
  }
}

/** Both selectors of a request, and its name: a watch of one object is a watch with a field selector. */
export function selectorOf({ resource, query, name }: ApiRequest): Selector {
  const labels = labelSelector(query.get('labelSelector'));
  const fields = fieldSelector(resource, query.get('fieldSelector'));
  return (object) => labels(object) && fields(object) && (name === null || object.metadata.name === name);
}

/** null when absent or empty. Throws ApiError 400 for anything but digits. */
export function wholeNumber(query: URLSearchParams, key: string): number | null {
  const text = query.get(key) ?? '';
  if (text === '') return null;
  if (!/^\d{1,15}$/.test(text)) throw badRequest(`invalid ${key}: ${JSON.stringify(text)}`);
  return Number(text);
}

function parseToken(token: string): { id: string; offset: number } {
  const [id = '', offset = ''] = Buffer.from(token, 'base64url').toString().split(' ');
  if (!/^\d+$/.test(offset)) throw badRequest('continue key is not valid');
  return { id, offset: Number(offset) };
}
