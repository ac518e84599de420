/** The page's one way to its server: questions with the tab's key, and the stream. */
import type { Told } from '../told.ts';

const KEY = 'enactor-inspect-key';
const AGAIN_MS = 1_000;

/** Trades the token in the link for a key, which this tab keeps; null when there is neither. */
export async function signedIn(): Promise<string | null> {
  const token = location.hash.slice(1);
  const known = sessionStorage.getItem(KEY);
  if (token === '') return known;
  history.replaceState(null, '', location.pathname);
  const answer = await fetch('/session', { method: 'POST', body: token });
  if (!answer.ok) return known;
  const { key } = (await answer.json()) as { key: string };
  sessionStorage.setItem(KEY, key);
  return key;
}

export class Connection {
  readonly #key: string;

  constructor(key: string) {
    this.#key = key;
  }

  /** null for what is not there. Rejects when the server cannot tell. */
  async ask<T>(path: string, params: Readonly<Record<string, string | number>> = {}): Promise<T | null> {
    const query = new URLSearchParams(Object.entries(params).map(([name, value]) => [name, String(value)]));
    const answer = await fetch(`${path}?${query}`, { headers: this.#headers });
    const body = (await answer.json()) as (T & { error?: string }) | null;
    if (!answer.ok) throw new Error(body?.error ?? `answered ${answer.status}`);
    return body;
  }

  /** Hears for as long as the page is open; `lost` hears when the server does not answer, and again, with null, when it does. */
  async listen(hear: (told: Told) => void, lost: (why: string | null) => void): Promise<never> {
    for (;;) {
      try {
        const answer = await fetch('/api/stream', { headers: this.#headers });
        if (answer.status === 401)
          throw new Error('this tab is not known to enactor inspect any more: open the link it prints');
        if (!answer.ok || answer.body === null) throw new Error(`enactor inspect answered ${answer.status}`);
        lost(null);
        await linesOf(answer.body, (line) => hear(JSON.parse(line) as Told));
        throw new Error('enactor inspect has ended');
      } catch (error) {
        lost(error instanceof TypeError ? 'enactor inspect has ended' : (error as Error).message);
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  get #headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#key}` };
  }
}

async function linesOf(body: ReadableStream<Uint8Array>, line: (text: string) => void): Promise<void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n');
    rest = parts.pop() ?? '';
    for (const one of parts) if (one !== '') line(one);
  }
}
