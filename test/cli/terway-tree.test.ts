import t from 'tap';
import { keyTree, leaf, treeLines } from '../../src/cli/terway-tree.ts';

t.test('terway-cli: a tree is drawn as terway-cli draws it', async (t) => {
  const trace = [
    { Key: 'name', Value: 'default' },
    { Key: 'pods/default/a/resources', Value: '(eniIp)m.1' },
    { Key: 'pods/default/b/resources', Value: '(eniIp)m.2' },
    { Key: 'pending_pods_count', Value: '0' },
  ];
  t.strictSame(treeLines([keyTree(trace)]), [
    '└─┬',
    '  ├──name: default',
    '  ├─┬pods',
    '  │ └─┬default',
    '  │   ├─┬a',
    '  │   │ └──resources: (eniIp)m.1',
    '  │   └─┬b',
    '  │     └──resources: (eniIp)m.2',
    '  └──pending_pods_count: 0',
  ]);
  t.strictSame(treeLines([leaf('x'), leaf('y')]), ['├──x', '└──y']);
});
