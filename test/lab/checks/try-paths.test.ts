import t from 'tap';
import { tryPath, tryPaths } from '../../../src/lab/checks/try-paths.ts';
import type { Lab } from '../../../src/lab/lab.ts';
import type { ProbeResult } from '../../../src/lab/probe/echo-socket.ts';

const ips: Readonly<Record<string, readonly string[]>> = { a: ['10.0.0.1'], b: ['10.0.0.2', '2001:db8::2'] };

/** Of a lab only what paths are tried with. */
function labWith(probe: (from: string, to: string) => ProbeResult): Lab {
  const place = (name: string) => {
    if (ips[name] === undefined) throw new Error(`nothing is called ${name}`);
    return { name, ips: ips[name] };
  };
  return { place, probe: async (from: string, to: string) => probe(from, to) } as unknown as Lab;
}

const answered = { reached: true, sourceSeen: '10.0.0.1', answeredBy: '10.0.0.2', rttMs: 1, place: null } as const;
const path = { from: 'a', to: 'b' };

t.test('paths: one works when the far end answered by its address and saw the sender’s own', async (t) => {
  t.match(
    await tryPath(
      labWith(() => answered),
      path,
    ),
    { ...path, worked: true, why: '', rttMs: 1 },
  );
});

t.test('paths: an answer is not enough: the wrong source, the wrong answerer and silence are faults', async (t) => {
  for (const [result, why] of [
    [{ ...answered, sourceSeen: '10.0.0.9' }, 'the far end saw 10.0.0.9 in place of 10.0.0.1'],
    [{ ...answered, answeredBy: '10.0.0.8' }, 'the answer came from 10.0.0.8 in place of 10.0.0.2 or 2001:db8::2'],
    [{ reached: false, why: 'no answer within 1 ms' }, 'no answer within 1 ms'],
  ] as const) {
    t.match(
      await tryPath(
        labWith(() => result),
        path,
      ),
      { worked: false, why, rttMs: null },
    );
  }
  t.match(
    await tryPath(
      labWith(() => answered),
      { from: 'a', to: 'c' },
    ),
    { worked: false, why: 'nothing is called c' },
  );
});

t.test('paths: many are tried a few at a time and told in their order', async (t) => {
  const paths = Array.from({ length: 9 }, (_, index) => ({
    kind: 'pod to pod on one ENI' as const,
    from: index % 2 === 0 ? 'a' : 'b',
    to: 'b',
  }));
  const heard: number[] = [];
  const outcomes = await tryPaths(
    labWith(() => answered),
    paths,
    { atOnce: 4 },
    () => heard.push(1),
  );
  t.strictSame(
    outcomes.map(({ worked }) => worked),
    paths.map(({ from }) => from === 'a'),
  );
  t.equal(heard.length, 9);
});
