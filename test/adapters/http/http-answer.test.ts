import { test } from 'tap';
import { answerIn } from '../../../src/adapters/http/http-answer.ts';

const head = (...lines: readonly string[]) => `HTTP/1.1 200 OK\r\n${lines.join('\r\n')}\r\n\r\n`;
const whole: readonly (readonly [string, string, string])[] = [
  ['with its length', `${head('Content-Length: 7')}{"a":1}`, '{"a":1}'],
  ['with an empty body', head('content-length: 0'), ''],
  ['in chunks', `${head('Transfer-Encoding: chunked')}4;x=y\r\n{"a"\r\n3\r\n:1}\r\n0\r\n\r\n`, '{"a":1}'],
  ['of two bytes a letter', `${head('content-length: 4')}"ü"`, '"ü"'],
];

test('http answer: whole only with its last byte, however the bytes come in', (t) => {
  for (const [what, text, body] of whole) {
    const bytes = Buffer.from(text, 'utf8');
    const sizes = Array.from({ length: bytes.length }, (_, size) => size);
    const early = sizes.filter((size) => answerIn(bytes.subarray(0, size), false)?.body === body);
    const end = bytes.length - (what === 'in chunks' ? '\r\n'.length : 0); // behind the last chunk only trailers come
    t.strictSame(
      early,
      sizes.filter((size) => size >= end),
      `${what}: not before`,
    );
    t.strictSame(answerIn(bytes, false), { status: 200, body }, what);
  }
  t.strictSame(
    answerIn(Buffer.from('HTTP/1.0 503 No\r\n\r\nbye'), false),
    null,
    'without a length the end of the stream tells',
  );
  t.strictSame(answerIn(Buffer.from('HTTP/1.0 503 No\r\n\r\nbye'), true), { status: 503, body: 'bye' });
  t.end();
});

test('http answer: what ends too early or is none throws', (t) => {
  for (const [text, error] of [
    ['', /0 bytes and no HTTP answer/],
    ['HTTP/1.1 200 OK\r\ncontent-length: 7\r\n', /no HTTP answer in them/],
    [`${head('content-length: 7')}{"a":`, /ended within the answer/],
    [`${head('transfer-encoding: chunked')}4\r\n{"a"\r\n`, /ended within the answer/],
    [`${head('transfer-encoding: chunked')}xyz\r\n`, /chunk of "xyz" bytes/],
    [`${head('content-length: -1')}x`, /content-length -1/],
    ['SSH-2.0-OpenSSH\r\n\r\n', /no HTTP answer: "SSH-2.0-OpenSSH"/],
  ] as const)
    t.throws(() => answerIn(Buffer.from(text), true), error, JSON.stringify(text));
  t.throws(() => answerIn(Buffer.alloc(70_000, 'x'), false), /70000 bytes and no HTTP answer/, 'a head without an end');
  t.end();
});
