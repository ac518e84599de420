import { test } from 'tap';
import { strategicMergePatch } from '../../../src/lab/apiserver/merge-patch.ts';

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

test('strategic merge patch: what is not to be retained goes, as one kind of volume does for another', async (t) => {
  const volume = { $retainKeys: ['emptyDir', 'name'], emptyDir: {}, name: 'a' };
  t.same(strategicMergePatch({ volumes: [{ name: 'a', hostPath: { path: '/' } }] }, { volumes: [volume] }), {
    volumes: [{ name: 'a', emptyDir: {} }],
  });
});
