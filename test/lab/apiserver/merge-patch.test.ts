import { test } from 'tap';
import { mergePatch, strategicMergePatch } from '../../../src/lab/apiserver/merge-patch.ts';

test('merge patch: the examples of RFC 7396, appendix A', async (t) => {
  const cases: [string, string, string][] = [
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ];
  for (const [target, patch, result] of cases)
    t.same(mergePatch(JSON.parse(target), JSON.parse(patch)), JSON.parse(result));
});

test('merge patch: __proto__ is a key like any other', async (t) => {
  const result = mergePatch({}, JSON.parse('{"__proto__":{"polluted":1}}'));
  t.ok(Object.hasOwn(result as object, '__proto__'));
  t.notOk('polluted' in {});
});

test('strategic merge patch: lists with a key are merged by it, with directives; others are replaced', async (t) => {
  const target = {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'SufficientIP', status: 'True' },
    ],
    args: ['a'],
    finalizers: ['x'],
  };
  const patch = {
    conditions: [
      { type: 'Ready', $patch: 'delete' },
      { type: 'SufficientIP', status: 'False' },
      { type: 'New', status: 'True' },
    ],
    '$setElementOrder/conditions': [{ type: 'New' }],
    args: ['b'],
    finalizers: ['y'],
  };
  t.same(strategicMergePatch(target, patch), {
    conditions: [
      { type: 'SufficientIP', status: 'False' },
      { type: 'New', status: 'True' },
    ],
    args: ['b'],
    finalizers: ['x', 'y'],
  });
  t.same(strategicMergePatch({ finalizers: ['x', 'y'] }, { '$deleteFromPrimitiveList/finalizers': ['x'] }), {
    finalizers: ['y'],
  });
  t.same(strategicMergePatch({ a: { b: 1, c: 2 } }, { a: { $patch: 'replace', d: 3 } }), { a: { d: 3 } });
});
