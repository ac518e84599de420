/** Bun's own fetch over a unix socket. Only for programs that Bun compiles: Node's fetch ignores `unix`. */
import type { Post } from './backend-client.ts';

export const postOverBun: Post = async ({ socketPath, path, headers, body, signal }) => {
  const init: RequestInit & { readonly unix: string } = { method: 'POST', headers, body, signal, unix: socketPath };
  const response = await fetch(`http://daemon${path}`, init);
  return { status: response.status, body: await response.text() };
};
