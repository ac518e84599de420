import { createHash } from 'node:crypto';
import { test } from 'tap';
import { sha1Hex } from '../../src/core/sha1.ts';

test('sha1: the same as node:crypto at every length around the block size', (t) => {
  const differing = Array.from({ length: 200 }, (_, length) => 'ä'.repeat(length % 7) + 'x'.repeat(length)).filter(
    (text) => sha1Hex(text) !== createHash('sha1').update(text).digest('hex'),
  );
  t.strictSame(differing, []);
  t.equal(sha1Hex('abc'), 'a9993e364706816aba3e25717850c26c9cd0d89d');
  t.end();
});
