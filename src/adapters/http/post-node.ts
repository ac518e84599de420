/** The same over node:http, for the command line and the tests. */
import { request } from 'node:http';
import type { Post } from './backend-client.ts';

export const postOverNode: Post = ({ socketPath, path, headers, body, signal }) =>
  new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, path, method: 'POST', headers, signal, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
