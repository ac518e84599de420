/** What the metadata client needs of the world: one request, and time. The simulation gives it its own. */
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

export const httpWire: MetadataWire = {
  async send(method, url, headers, signal) {
    const response = await fetch(url, { method, headers, redirect: 'error', signal });
    return { status: response.status, text: await boundedText(response) };
  },
  pause: (ms, signal) => wait(ms, undefined, { signal }),
  timeout: (ms) => AbortSignal.timeout(ms),
};

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.length;
    if (sizeBytes > BODY_MAX_BYTES) throw new RangeError(`the answer is over ${BODY_MAX_BYTES} bytes long`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
