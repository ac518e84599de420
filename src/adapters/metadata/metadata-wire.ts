/** What the metadata client needs of the world: one request, and time. The simulation gives it its own. */
import { request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

export type MetadataAnswer = { readonly status: number; readonly text: string };

export type MetadataWire = {
  /** Rejects when there is no answer, or as soon as `signal` fires. */
  send(method: string, url: string, headers: Record<string, string>, signal: AbortSignal): Promise<MetadataAnswer>;
  /** Rejects as soon as `signal` fires. */
  pause(ms: number, signal: AbortSignal): Promise<void>;
  /** Fires after this time. */
  timeout(ms: number): AbortSignal;
};

const BODY_MAX_BYTES = 1 << 20;
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/**
 * By node:http, which the servers have loaded anyway: fetch brings a client of its own along, of which a starting daemon waited for a tenth of its time.
 * A redirect is an error.
 */
export const httpWire: MetadataWire = {
  send: (method, url, headers, signal) =>
    new Promise((resolve, reject) => {
      const failed = (error: Error): void => reject(signal.aborted ? signal.reason : error);
      const outgoing = request(url, { method, headers, signal }, (response) => {
        const { statusCode: status = 0 } = response;
        if (REDIRECTS.includes(status)) {
          response.resume();
          reject(new Error(`${url} redirects (HTTP ${status})`));
          return;
        }
        const chunks: Buffer[] = [];
        let sizeBytes = 0;
        response.on('data', (chunk: Buffer) => {
          sizeBytes += chunk.length;
          chunks.push(chunk);
          if (sizeBytes <= BODY_MAX_BYTES) return;
          reject(new RangeError(`the answer is over ${BODY_MAX_BYTES} bytes long`));
          outgoing.destroy();
        });
        response.on('error', failed);
        response.on('end', () => resolve({ status, text: Buffer.concat(chunks).toString('utf8') }));
      });
      outgoing.on('error', failed);
      outgoing.end();
    }),
  pause: (ms, signal) => wait(ms, undefined, { signal }),
  timeout: (ms) => AbortSignal.timeout(ms),
};
