import '../lab/in-box.ts';

import t from 'tap';
import { call, machine } from './machine.ts';

t.setTimeout(120_000);

t.test('daemon: at rest it gives back the memory of its start, and goes on', async (t) => {
  const here = await machine(t, { log_level: 'debug' });
  const daemon = here.start();
  await daemon.serving();
  const told = () => daemon.log.split('\n').find((line) => line.includes('"memory given back"'));
  await daemon.until(async () => told() !== undefined);
  const { fromMb, toMb } = JSON.parse(told() ?? '') as { fromMb: number; toMb: number };
  t.ok(toMb < fromMb - 5, `from ${fromMb} MB to ${toMb} MB`);
  here.addPod('later');
  t.match(await call(here.paths.jsonSocket, 'AllocIP', 'later'), { status: 200 });
});
