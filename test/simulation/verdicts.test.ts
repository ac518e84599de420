import t from 'tap';
import type { SecondLook, Suspect } from '../../src/core/garbage.ts';
import { Verdicts } from '../../src/simulation/verdicts.ts';
import type { GarbageCollectorContext } from '../../statecharts/garbage-collector-context.ts';

const pod = { namespace: 'default', name: 'a', uid: 'u-a' };
const suspect: Suspect = {
  ...{ sandbox: 'c-1/eth0', containerId: 'c-1', ifName: 'eth0' },
  ...{ pod, boundAtMs: 0, reason: 'deleted' },
};
const gone: SecondLook = { sandbox: suspect.sandbox, api: { pod: null }, kernel: { runs: false } };
const there: SecondLook = { ...gone, kernel: { runs: true } };
const silent: SecondLook = { ...gone, kernel: { failure: { code: 'device', detail: 'nobody answers' } } };

type Memory = Pick<GarbageCollectorContext, 'condemned' | 'doomed'>;
const since = (sinceMs: number): Memory['condemned'] => ({
  [suspect.sandbox]: { reason: 'deleted', pod: 'default/a', sinceMs },
});
const remembers = (condemned: Memory['condemned'], doomed: Memory['doomed'] = []) => ({
  ...{ suspects: [suspect], graceMs: 10_000, nodeName: 'node-1' },
  ...{ condemned, doomed },
});

function watched(): { readonly verdicts: Verdicts; readonly said: string[] } {
  const said: string[] = [];
  const verdicts = new Verdicts((_, what) => void said.push(what));
  verdicts.cleared();
  return { verdicts, said };
}

t.test('verdicts: a lease that two looks called gone, a grace apart, may be released', (t) => {
  const { verdicts, said } = watched();
  verdicts.judged(remembers(since(1_000)), [gone], 1_000);
  verdicts.judged(remembers(since(1_000)), [silent], 6_000);
  verdicts.judged(remembers(since(1_000), [suspect]), [gone], 11_000);
  t.same(said, []);
  t.end();
});

t.test('verdicts: a lease that a witness has spoken for is condemned no more, and not from before', (t) => {
  const { verdicts, said } = watched();
  verdicts.judged(remembers(since(1_000)), [gone], 1_000);
  verdicts.judged(remembers(since(1_000)), [there], 6_000);
  t.match(said.shift(), /c-1\/eth0 stays condemned/);
  verdicts.judged(remembers(since(1_000), [suspect]), [gone], 11_000);
  t.match(said.shift(), /counts as gone since 1000, and was called so first at 11000/);
  t.match(said.shift(), /to be released 0 ms after/);
  t.same(said, []);
  t.end();
});

t.test('verdicts: neither one look nor a grace that is not over is enough', (t) => {
  const { verdicts, said } = watched();
  verdicts.judged(remembers(since(1_000), [suspect]), [gone], 1_000);
  t.match(said.shift(), /to be released 0 ms after/);
  verdicts.judged(remembers(since(1_000), [suspect]), [gone], 10_999);
  t.match(said.shift(), /to be released 9999 ms after it was called gone, of 10000 ms/);
  verdicts.released(suspect.sandbox);
  verdicts.judged(remembers(since(1_000), [suspect]), [gone], 20_000);
  t.match(said.shift(), /counts as gone since 1000/, 'whoever comes under that name is somebody else');
  t.end();
});

t.test('verdicts: of a collector that was not seen from its beginning nothing is held against its memory', (t) => {
  const said: string[] = [];
  const verdicts = new Verdicts((_, what) => void said.push(what));
  verdicts.judged(remembers(since(1_000), [suspect]), [gone], 20_000);
  verdicts.judged(remembers(since(1_000), [suspect]), [gone], 25_000);
  t.same(said, []);
  t.end();
});
