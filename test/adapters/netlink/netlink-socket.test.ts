/** What the kernel does rarely: interrupted dumps, dropped answers. A libc of ours plays it. */

import { openSync } from 'node:fs';
import { test } from 'tap';
import type { Libc } from '../../../src/adapters/netlink/libc.ts';
import { NetlinkSocket } from '../../../src/adapters/netlink/netlink-socket.ts';
import { deleteLink, dumpLinks } from '../../../src/adapters/netlink/wire/link.ts';
import { dumpRules } from '../../../src/adapters/netlink/wire/rule.ts';

const ENOBUFS = 105;
const EAGAIN = 11;
const INTERRUPTED = 0x10;

type Answer = (sequence: number) => Buffer | number;

/** Each send takes the next script; each recv the next answer of it. */
function scripted(scripts: Answer[][]): { libc: Libc; sent: () => number } {
  let sent = 0;
  let queue: (Buffer | number)[] = [];
  const libc: Libc = {
    setns: () => 0,
    socket: () => openSync('/dev/null', 'r'),
    setsockopt: () => -92, // an old kernel
    bind: () => 0,
    sendto: (_, bytes) => {
      const first = Buffer.from(bytes).readUInt32LE(8);
      queue = (scripts[sent] ?? []).map((answer) => answer(first));
      sent += 1;
      return bytes.length;
    },
    recv: (_, into) => {
      const next = queue.shift() ?? -EAGAIN;
      if (typeof next === 'number') return next;
      into.set(next);
      return next.length;
    },
  };
  return { libc, sent: () => sent };
}

function message(type: number, flags: number, sequence: number, body = Buffer.alloc(16)): Buffer {
  const header = Buffer.alloc(16);
  header.writeUInt32LE(16 + body.length, 0);
  header.writeUInt16LE(type, 4);
  header.writeUInt16LE(flags, 6);
  header.writeUInt32LE(sequence, 8);
  return Buffer.concat([header, body]);
}

const link =
  (flags = 0): Answer =>
  (sequence) =>
    message(16, flags, sequence);
const done =
  (flags = 0): Answer =>
  (sequence) =>
    message(3, flags, sequence, Buffer.alloc(4));
const ack =
  (offset: number): Answer =>
  (sequence) =>
    message(2, 0, sequence + offset, Buffer.alloc(20));

test('socket: a dump that the kernel calls interrupted is read anew', (t) => {
  const { libc, sent } = scripted([
    [link(), link(INTERRUPTED), done(INTERRUPTED)],
    [link(), done()],
  ]);
  t.equal(new NetlinkSocket(libc).dump(dumpLinks()).length, 1);
  t.equal(sent(), 2);
  t.end();
});

test('socket: a long list that is walked by position is read until three readings agree, a short one once', (t) => {
  const rule =
    (of: number): Answer =>
    (sequence) =>
      message(32, 0, sequence, Buffer.alloc(1_600, of));
  const short = scripted([[link(), done()], []]);
  t.equal(new NetlinkSocket(short.libc).dumpByPosition(dumpRules(4)).length, 1);
  t.equal(short.sent(), 1);
  const once = scripted([
    // As of somebody whose changes come in a beat: wrong twice in one way.
    [rule(1), rule(3), done()],
    [rule(1), rule(3), done()],
    [rule(1), rule(2), rule(3), done()],
    [rule(1), rule(2), rule(3), done()],
    [rule(1), rule(2), rule(3), done()],
  ]);
  t.strictSame(
    new NetlinkSocket(once.libc).dumpByPosition(dumpRules(4)).map(([first]) => first),
    [1, 2, 3],
  );
  t.equal(once.sent(), 5);
  // Others come and go all the time, and now this, now that is passed over: 1 and 2 are there.
  const never = scripted(
    [
      [1, 2, 11],
      [1, 12],
      [2, 13],
      [1, 2, 14],
      [2, 15],
      [1, 2],
      [1, 2],
      [1, 11],
      [1, 2, 16],
    ].map((all) => [...all.map(rule), done()]),
  );
  const found = new NetlinkSocket(never.libc).dumpByPosition(dumpRules(4)).map(([first]) => first);
  t.equal(never.sent(), 8);
  t.strictSame(new Set(found), new Set([1, 2, 11, 12, 13, 14, 15]));
  t.equal(found.length, 7, 'each once');
  t.end();
});

test('socket: a dump of which a part was dropped is read anew', (t) => {
  const { libc, sent } = scripted([
    [link(), () => -ENOBUFS, done()],
    [link(), link(), done()],
  ]);
  t.equal(new NetlinkSocket(libc).dump(dumpLinks()).length, 2);
  t.equal(sent(), 2);
  t.end();
});

test('socket: a list that changes all the time is an error, not a list with holes', (t) => {
  const { libc, sent } = scripted(Array.from({ length: 50 }, () => [link(), done(INTERRUPTED)]));
  t.throws(() => new NetlinkSocket(libc).dump(dumpLinks()), { code: 'EINTR', operation: 'list links' });
  t.equal(sent(), 10);
  t.end();
});

test('socket: an answer the kernel dropped is an unknown outcome, the others stand', (t) => {
  const { libc } = scripted([[ack(0), () => -ENOBUFS, ack(2)]]);
  const requests = [1, 2, 3].map((index) => deleteLink({ index, name: `l${index}` }));
  t.strictSame(
    new NetlinkSocket(libc).execute(requests).map(({ error }) => error?.message ?? null),
    [null, 'delete link l2: ENOBUFS (no answer came)', null],
  );
  t.end();
});

test('socket: answers to an earlier batch are not taken for this one’s', (t) => {
  const { libc } = scripted([[], [(sequence) => message(2, 0, sequence - 1, Buffer.alloc(20)), ack(0)]]);
  const socket = new NetlinkSocket(libc);
  t.equal(socket.execute([deleteLink({ index: 1, name: 'a' })])[0]?.error?.code, 'ENOBUFS');
  t.equal(socket.execute([deleteLink({ index: 2, name: 'b' })])[0]?.error, null);
  t.throws(() => socket.dump(deleteLink({ index: 1, name: 'a' })), TypeError);
  socket.close();
  socket.close();
  t.end();
});
