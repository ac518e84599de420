/** Writes answers, good and broken ones. */
import type { ServerResponse } from 'node:http';

/** What a planted fault puts in the place of a good answer. */
export type Instead =
  | { readonly drop: 'close' | 'cut' | 'hang' }
  | { readonly status: number; readonly contentType: string; readonly body: string };

export function send(
  response: ServerResponse,
  status: number,
  contentType: string,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const bytes = Buffer.from(body);
  response.writeHead(status, { 'content-type': contentType, 'content-length': bytes.length, ...headers });
  response.end(bytes);
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  send(response, status, 'application/json;charset=utf-8', `${JSON.stringify(value, null, 1)}\n`);
}

/** `cut` sends the headers and half of the body. `hang` leaves the connection open and says nothing. */
export function sendInstead(response: ServerResponse, instead: Instead, body: string): void {
  if (!('drop' in instead)) {
    send(response, instead.status, instead.contentType, instead.body);
    return;
  }
  if (instead.drop === 'close') response.socket?.destroy();
  if (instead.drop === 'cut') {
    const bytes = Buffer.from(body);
    response.writeHead(200, { 'content-type': 'application/json;charset=utf-8', 'content-length': bytes.length });
    response.write(bytes.subarray(0, Math.floor(bytes.length / 2)), () => response.socket?.destroy());
  }
}
