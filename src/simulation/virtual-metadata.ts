/**
 * The metadata service of one instance under virtual time, as the client's wire (src/adapters/metadata): the paths of the model's tree, behind
 * tokens that end. What speaks to it is the production's own client.
 */
import type { MetadataAnswer, MetadataWire } from '../adapters/metadata/metadata-wire.ts';
import { metadataAt, metadataTree } from '../vpc/metadata-tree.ts';
import type { Life } from './life.ts';
import type { Issuers } from './lifetimes.ts';
import type { VirtualCloud } from './virtual-cloud.ts';

const TOKEN_PATH = '/latest/api/token';
const TOKEN_HEADER = 'x-aliyun-ecs-metadata-token';
const TTL_HEADER = 'x-aliyun-ecs-metadata-token-ttl-seconds';
const ROLE = 'role-of-nodes';

export function virtualMetadata(options: {
  readonly cloud: VirtualCloud;
  readonly instanceId: string;
  readonly life: Life;
  readonly issuers: Issuers;
  readonly delayMs: () => number;
  /** Asked once for each request: why there is no answer, or null. */
  readonly failing: () => string | null;
}): MetadataWire {
  const { cloud, instanceId, life, issuers, delayMs, failing } = options;

  function answer(method: string, path: string, headers: Record<string, string>): MetadataAnswer {
    const view = cloud.model.metadata(instanceId, life.nowMs());
    if (view === null) return { status: 404, text: 'Not Found' };
    if (path === TOKEN_PATH && method === 'PUT')
      return { status: 200, text: issuers.metadataToken(instanceId, Number(headers[TTL_HEADER]) * 1_000) };
    const token = headers[TOKEN_HEADER];
    if (token === undefined) return { status: 403, text: 'Forbidden' };
    if (!issuers.opens('metadataToken', token, instanceId)) return { status: 401, text: 'Unauthorized' };
    const { id, endMs } = issuers.key(instanceId);
    const credentials = JSON.stringify({
      ...{ AccessKeyId: id, AccessKeySecret: `secret of ${id}`, SecurityToken: `token of ${id}` },
      ...{ Expiration: new Date(endMs).toISOString().replace('.000Z', 'Z'), Code: 'Success' },
    });
    const text = metadataAt(metadataTree({ ...view, ramRole: ROLE }, credentials), path);
    return text === null ? { status: 404, text: 'Not Found' } : { status: 200, text };
  }

  return {
    send: (method, url, headers, signal) =>
      life.promise((resolve, reject) => {
        const abort = (): void => reject(signal.reason);
        if (signal.aborted) return abort();
        signal.addEventListener('abort', abort, { once: true });
        life.after(delayMs(), () => {
          signal.removeEventListener('abort', abort);
          const failure = failing();
          if (failure === null) resolve(answer(method, new URL(url).pathname, headers));
          else reject(new Error(failure));
        });
      }),
    pause: (ms, signal) =>
      life.promise((resolve, reject) => {
        const abort = (): void => reject(signal.reason);
        if (signal.aborted) return abort();
        signal.addEventListener('abort', abort, { once: true });
        life.after(ms, () => {
          signal.removeEventListener('abort', abort);
          resolve();
        });
      }),
    timeout: (ms) => timeoutOf(life, ms),
  };
}

export function timeoutOf(life: Life, ms: number): AbortSignal {
  const controller = new AbortController();
  life.after(ms, () => controller.abort(new DOMException('the time is over', 'TimeoutError')));
  return controller.signal;
}
