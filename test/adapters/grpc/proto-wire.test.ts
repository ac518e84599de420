import t from 'tap';
import { backendMessages, type TerwayMethod } from '../../../src/adapters/grpc/backend-messages.ts';
import { decodeMessage, encodeMessage, type Fields, type Message } from '../../../src/adapters/grpc/proto-wire.ts';
import { backendService } from '../../../src/adapters/grpc/service.ts';

/** A message with a value in every field of the table: what differs from field to field cannot be taken for another. */
function full(fields: Fields, from = { nth: 1 }): Message {
  return Object.fromEntries(
    Object.entries(fields).map(([name, { kind, list }]) => {
      const one = (): unknown => {
        from.nth += 1;
        if (typeof kind === 'object') return full(kind, from);
        if (kind === 'text') return `${name} ${from.nth} é`;
        if (kind === 'bool') return true;
        return kind === 'bigText'
          ? `${2n ** 64n - BigInt(from.nth)}`
          : name === 'IPType' || name.startsWith('Event')
            ? 1
            : from.nth * 1_000;
      };
      return [name, list === true ? [one(), one()] : one()];
    }),
  );
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

t.test('proto: every message of the backend is the same here and to the library, in both directions', (t) => {
  const service = backendService();
  for (const [method, { request, reply }] of Object.entries(backendMessages)) {
    const theirs = service[method as TerwayMethod];
    if (theirs === undefined) throw new Error(`rpc.proto has no ${method}`);
    for (const [what, fields, write, read] of [
      ['request', request, theirs.requestSerialize, theirs.requestDeserialize],
      ['reply', reply, theirs.responseSerialize, theirs.responseDeserialize],
    ] as const) {
      for (const message of [full(fields), {}]) {
        t.strictSame(plain(read(encodeMessage(fields, message))), message, `${method} ${what}: written here`);
        t.strictSame(plain(decodeMessage(fields, write(message))), message, `${method} ${what}: read here`);
      }
    }
  }
  t.end();
});

t.test('proto: fields that are not known are passed over, also in old forms', (t) => {
  const fields: Fields = { Name: { no: 1, kind: 'text' } };
  const unknown = ['1007', '12026869', '1d01020304', '210102030405060708'].join('');
  t.strictSame(decodeMessage(fields, Buffer.from(`${unknown}0a0161${unknown}`, 'hex')), { Name: 'a' });
  t.strictSame(decodeMessage(fields, Buffer.from('0801', 'hex')), {}, 'of another type than ours');
  t.strictSame(decodeMessage({ N: { no: 1, kind: 'number' } }, Buffer.from('08ffffffffffffffffff01', 'hex')), {
    N: -1,
  });
  t.end();
});

t.test('proto: what is no message is refused', (t) => {
  const fields: Fields = { Name: { no: 1, kind: 'text' }, In: { no: 2, kind: { Name: { no: 1, kind: 'text' } } } };
  for (const hex of ['0a', '0a05', '0a0561', '80', 'ffffffffffffffffffffff', '0b', '1d0102', '12020a05', '1a7f'])
    t.throws(() => decodeMessage(fields, Buffer.from(hex, 'hex')), RangeError, hex);
  t.throws(() => encodeMessage(fields, { Name: 1 }), /Name is no text/);
  t.throws(() => encodeMessage(fields, { In: 'x' }), /In is no message/);
  t.end();
});
