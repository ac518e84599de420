/** B10 with the real daemon as a process: odd answers of the metadata service and the API server, and what its health says meanwhile. */
import '../lab/in-box.ts';

import t from 'tap';
import { resourceNamed } from '../../src/lab/apiserver/resource.ts';
import { ask, call, type Machine, machine, NODE } from '../daemon/machine.ts';

t.setTimeout(120_000);

function putPod(here: Machine, name: string, change: (pod: Record<string, unknown>) => Record<string, unknown>): void {
  here.addPod(name);
  const pods = resourceNamed('pods');
  const pod = pods === null ? null : here.api.store.get(pods, 'default', name);
  if (pods === null || pod === null) throw new Error(`no pod ${name}`);
  here.api.store.put(pods, change(structuredClone(pod) as unknown as Record<string, unknown>) as unknown as typeof pod);
}

const plant = async (here: Machine, fault: object): Promise<void> => {
  const answer = await fetch(`${here.cloud.adminUrl}/faults`, { method: 'POST', body: JSON.stringify(fault) });
  if (!answer.ok) throw new Error(await answer.text());
};

t.test(
  'B10: metadata that says nothing: not ready, with the reason, until it speaks; then nobody is hurt by it',
  async (t) => {
    const here = await machine(t, { backoff: '50ms', backoff_max: '100ms' });
    here.addPod('first');
    here.addPod('second');
    const empty = { api: 'Metadata', effect: 'reply', contentType: 'text/plain', body: '', times: 1_000 };
    await plant(here, empty);
    const daemon = here.start();
    await daemon.until(async () => (await daemon.report()).missing.some((what) => what.startsWith('identify')));
    const health = await ask(here.paths.debugSocket, 'GET', '/v1/health');
    t.not(health.status, 200, 'health tells the truth');
    t.match((await daemon.report()).missing, [/identify: .*(instance-id|metadata|meta-data)/], 'and the path at fault');
    t.match(await call(here.paths.jsonSocket, 'AllocIP', 'first'), { status: 503, body: { message: /identify/ } });

    await fetch(`${here.cloud.adminUrl}/faults`, { method: 'DELETE' });
    await daemon.serving();
    t.match(await call(here.paths.jsonSocket, 'AllocIP', 'first'), { status: 200 });
    await plant(here, empty);
    t.match(await call(here.paths.jsonSocket, 'AllocIP', 'second'), { status: 200 }, 'it is off the path of an ADD');
    t.equal((await ask(here.paths.debugSocket, 'GET', '/v1/health')).status, 200);
    t.strictSame(await daemon.stop(), { code: 0, signal: null });
    t.notMatch(daemon.log, /lab-access-key-secret/);
  },
);

t.test('B10: pods without annotations and status, and things that are no pods', async (t) => {
  const here = await machine(t);
  putPod(here, 'bare', ({ metadata, ...rest }) => {
    const { annotations: _, labels: __, ...bare } = metadata as Record<string, unknown>;
    const { status: ___, ...left } = rest;
    return { ...left, metadata: bare };
  });
  putPod(here, 'nulls', (pod) => ({
    ...pod,
    metadata: { ...(pod.metadata as object), annotations: null, labels: null, ownerReferences: null },
    spec: { nodeName: NODE },
    status: null,
  }));
  putPod(here, 'no-spec', ({ spec: _, ...pod }) => pod);
  putPod(here, 'odd-labels', (pod) => ({ ...pod, metadata: { ...(pod.metadata as object), labels: 7 } }));
  here.addPod('normal');
  const daemon = here.start();
  await daemon.serving();
  for (const pod of ['bare', 'nulls']) t.match(await call(here.paths.jsonSocket, 'AllocIP', pod), { status: 200 }, pod);
  for (const [pod, field] of [
    ['no-spec', /spec/],
    ['odd-labels', /labels/],
  ] as const) {
    const answer = await call(here.paths.jsonSocket, 'AllocIP', pod);
    t.match(answer, { status: 503, body: { message: field } }, `${pod}: the error names the field`);
    t.match(await call(here.paths.jsonSocket, 'AllocIP', 'normal'), { status: 200 }, 'the second pod works');
    t.match(await call(here.paths.jsonSocket, 'ReleaseIP', 'normal'), { status: 200 });
  }
  t.equal((await ask(here.paths.debugSocket, 'GET', '/v1/health')).status, 200);
  t.equal((await daemon.report()).leases.length, 2);
  t.strictSame(await daemon.stop(), { code: 0, signal: null });
});
