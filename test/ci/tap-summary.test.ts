import { test } from 'tap';
import { type Failure, type FileSummary, readTap, type Skip } from '../../.ci/tap-summary.ts';

function summarize(tap: string) {
  const files: FileSummary[] = [];
  const failures: Failure[] = [];
  const skips: Skip[] = [];
  const notes: string[] = [];
  const { stream, counts } = readTap({
    fileEnded: (file) => files.push(file),
    failure: (failure) => failures.push(failure),
    skip: (skip) => skips.push(skip),
    note: (text) => notes.push(text),
  });
  stream.end(tap);
  return { counts, files, failures, skips, notes };
}

test('summary: assertions are counted, not the subtests that hold them', async (t) => {
  const { counts, files } = summarize(`TAP version 14
# Subtest: test/a.test.ts
    # Subtest: adds
        ok 1 - one
        ok 2 - two
        1..2
    ok 1 - adds # time=3ms
    1..1
    # time=5ms
ok 1 - test/a.test.ts # time=1500ms
1..1
`);
  t.same(counts, { passed: 2, failed: 0, skipped: 0 });
  t.same(files, [{ file: 'test/a.test.ts', seconds: 1.5, passed: 2, failed: 0, skipped: 0 }]);
});

test('summary: one failed assertion is one failure, with its path and diagnosis', async (t) => {
  const { counts, failures, files } = summarize(`TAP version 14
# Subtest: test/a.test.ts
    # Subtest: adds
        ok 1 - one
        not ok 2 - two
          ---
          diff: |
            -1
            +2
          ...
        1..2
    not ok 1 - adds # time=3ms
    1..1
not ok 1 - test/a.test.ts # time=10ms
1..1
`);
  t.same(counts, { passed: 1, failed: 1, skipped: 0 });
  t.same(failures, [{ where: 'test/a.test.ts > adds > two', diagnosis: { diff: '-1\n+2\n' } }]);
  t.equal(files[0]?.failed, 1);
});

test('summary: a file that ends without any failed assertion but not well is one failure', async (t) => {
  const { counts, failures } = summarize(`TAP version 14
# Subtest: test/a.test.ts
    ok 1 - one
    1..1
not ok 1 - test/a.test.ts # time=10ms
  ---
  exitCode: 7
  ...
1..1
`);
  t.same(counts, { passed: 1, failed: 1, skipped: 0 });
  t.match(failures, [{ where: 'test/a.test.ts', diagnosis: { exitCode: 7 } }]);
});

test('summary: what was skipped keeps its reason and counts once', async (t) => {
  const { counts, skips } = summarize(`TAP version 14
# Subtest: test/a.test.ts
    ok 1 - adds # SKIP not root
    1..1
ok 1 - test/a.test.ts # time=10ms
1..1
`);
  t.same(counts, { passed: 0, failed: 0, skipped: 1 });
  t.same(skips, [{ where: 'test/a.test.ts > adds', reason: 'not root' }]);
});

test('summary: a stream that breaks off inside a file is a failure', async (t) => {
  const { counts } = summarize(`TAP version 14
# Subtest: test/a.test.ts
    ok 1 - one
`);
  t.ok(counts.failed > 0, `${counts.failed} failed`);
});

test('summary: comments of tests and lines that are no TAP come through, bookkeeping does not', async (t) => {
  const { notes } = summarize(`TAP version 14
# Subtest: test/a.test.ts
    # the log said so
    ok 1 - one
    1..1
    # time=5ms
ok 1 - test/a.test.ts # time=10ms
1..1
Lines : 80%
# { total: 1, pass: 1 }
`);
  t.same(notes, ['# the log said so', 'Lines : 80%']);
});
