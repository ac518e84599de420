import t from 'tap';
import { plainReason } from '../../../src/lab/kubelet/plain-reason.ts';

t.test('plain reason: the sentence without what wraps it for the runtime', async (t) => {
  const sentence = 'no address available: 12 held on 3 of 3 ENIs with 4 each';
  t.equal(plainReason(`code: IPNotAllocated, msg: ${sentence}: AllocIP failed: resource_exhausted`), sentence);
  t.equal(plainReason(sentence), sentence);
  t.match(
    plainReason('no network config found in /x: cni plugin not initialized'),
    /daemon has not installed the network/,
  );
});
