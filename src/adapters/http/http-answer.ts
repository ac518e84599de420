/** An HTTP/1.1 answer out of the bytes of a connection that carries one. Source: RFC 9112, sections 2 to 7. */

export type HttpAnswer = { readonly status: number; readonly body: string };

const HEAD_END = '\r\n\r\n';
/** A head without an end is none of a daemon's. */
const HEAD_MAX_BYTES = 65_536;

/**
 * null until it is whole; `ended`: no more bytes will come. Throws when it can no longer become one: then the connection broke, or the other end
 * speaks something else.
 */
export function answerIn(bytes: Buffer, ended: boolean): HttpAnswer | null {
  const headEnd = bytes.indexOf(HEAD_END);
  if (headEnd < 0) {
    if (ended || bytes.length > HEAD_MAX_BYTES) throw new Error(`${bytes.length} bytes and no HTTP answer in them`);
    return null;
  }
  const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(statusLine)?.[1] ?? 0);
  if (status === 0) throw new Error(`no HTTP answer: ${JSON.stringify(statusLine.slice(0, 80))}`);
  const content = contentIn(bytes.subarray(headEnd + HEAD_END.length), headersOf(lines), ended);
  if (content !== null) return { status, body: content.toString('utf8') };
  if (ended) throw new Error('the connection ended within the answer');
  return null;
}

function headersOf(lines: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    lines.map((line) => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
}

function contentIn(rest: Buffer, headers: ReadonlyMap<string, string>, ended: boolean): Buffer | null {
  if (headers.get('transfer-encoding')?.toLowerCase().endsWith('chunked') === true) return chunksIn(rest);
  const length = headers.get('content-length');
  if (length === undefined) return ended ? rest : null;
  const size = Number(length);
  if (!/^\d+$/.test(length) || !Number.isSafeInteger(size)) throw new Error(`content-length ${length.slice(0, 80)}`);
  return rest.length >= size ? rest.subarray(0, size) : null;
}

/** Trailers are nothing to us: the last chunk ends it. */
function chunksIn(rest: Buffer): Buffer | null {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf('\r\n', at);
    if (lineEnd < 0) return null;
    const [digits = ''] = rest.toString('latin1', at, lineEnd).split(';');
    if (!/^[0-9a-f]{1,8}$/i.test(digits.trim()))
      throw new Error(`chunk of ${JSON.stringify(digits.slice(0, 80))} bytes`);
    const size = Number.parseInt(digits, 16);
    const [from, to] = [lineEnd + 2, lineEnd + 2 + size];
    if (size === 0) return Buffer.concat(chunks);
    if (rest.length < to + 2) return null;
    chunks.push(rest.subarray(from, to));
    at = to + 2;
  }
}
