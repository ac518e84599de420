/** Our plugin and a daemon that answers on request. */
import { type Bench, PLUGIN, pluginBench } from '../plugin/plugin-process.ts';
import type { Hands, Subject } from './subject.ts';

const EMPTY = { status: 503, code: 'resource_exhausted', message: 'code: InternalError, msg: no address is left' };

export async function ourSubject(owner: Parameters<typeof pluginBench>[0]): Promise<Subject> {
  const bench = await pluginBench(owner, null);
  return { plugin: PLUGIN, conf: JSON.parse(bench.conf()), hands: handsOn(bench) };
}

function handsOn({ daemon }: Bench): Hands {
  return {
    leases: () => [...daemon.leases.keys()],
    stop: () => daemon.close(),
    start: () => daemon.listen(),
    exhaust: (on) => void (on ? daemon.faults.set('AllocIP', EMPTY) : daemon.faults.delete('AllocIP')),
    hang: (on) => void (on ? daemon.faults.set('AllocIP', 'hang') : daemon.faults.delete('AllocIP')),
    dual: (on) => {
      daemon.dual = on;
    },
  };
}
