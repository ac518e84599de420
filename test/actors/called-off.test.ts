/** An ENI whose Create waits for its turn among those of the account is not made once nobody wants it any more. */
import t from 'tap';
import { eventually, oneNode } from './one-node.ts';

t.setTimeout(60_000);

const CREATE = 'CreateNetworkInterface';

/** Two ENIs of 6 are wanted, and one Create may leave. */
async function secondInLine(t: Tap, maxIdle: number) {
  const lines: string[] = [];
  const lab = await oneNode({
    settings: { minIdle: 0, maxIdle },
    rateLimits: { [CREATE]: 1 },
    minuteMs: 60_000,
    log: {
      debug() {},
      warn() {},
      error() {},
      info: (fields, message) => lines.push(`${message} ${JSON.stringify(fields)}`),
    },
  });
  t.teardown(() => lab.stop());
  await lab.serving();
  const adds = Array.from({ length: 9 }, (_, nth) => {
    return lab.add(`pod-${nth}`, Date.now() + 50_000).then(
      () => true,
      () => false,
    );
  });
  const inLine = () => lab.report().enis.filter(({ state }) => state === 'creating.inLine');
  await eventually('six have theirs', () => lab.report().leases.length === 6);
  await eventually('another ENI waits', () => inLine().length === 1);
  const served = new Set(lab.report().leases.map(({ sandbox }) => sandbox.pod.name));
  const leave = async () => {
    for (const nth of adds.keys()) if (!served.has(`pod-${nth}`)) await lab.del(`pod-${nth}`);
  };
  return { lab, lines, inLine, leave, adds };
}

type Tap = Pick<typeof t, 'teardown'>;

t.test('called off: whoever it was for has left, so no ENI is made', async (t) => {
  const { lab, lines, leave, adds } = await secondInLine(t, 0);
  await leave();
  t.equal((await Promise.all(adds)).filter(Boolean).length, 6);
  await eventually('it is gone', () => lab.report().enis.length === 1);
  t.match(lines.join('\n'), /an ENI that nobody waits for any more is not made \{.*"ips":3/, 'and people are told');
  t.equal(lab.calls(CREATE).length, 1);
  const intents = [...(lab.disk.get('intents')?.values() ?? [])].map((value) => JSON.parse(value) as { slot: number });
  t.same(
    intents.filter(({ slot }) => slot === 1),
    [],
    'nothing was begun',
  );
  // Who comes later opens another one.
  const again = lab.add('again', Date.now() + 50_000, AbortSignal.timeout(50_000)).catch(() => null);
  await eventually('one waits in line again', () => lab.report().enis.length === 2);
  await lab.del('pod-0');
  t.not(await again, null);
});

t.test('called off: not what the pool may keep', async (t) => {
  const { lab, inLine, leave, adds } = await secondInLine(t, 3);
  await leave();
  await Promise.all(adds);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  t.equal(inLine().length, 1);
  t.equal(lab.calls(CREATE).length, 1);
});
