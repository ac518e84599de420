import { test } from 'tap';
import { mergePatch } from '../../src/core/merge-patch.ts';

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
