/**
 * deploy/terway.md on one node, with its pods running: out to what stands for Terway, and in again. Its commands are typed in the page's order, and after
 * each is seen what the page says.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readTerwayDatabase } from '../../src/adapters/bolt/terway-database.ts';
import { isLockHeld } from '../../src/adapters/locks/file-lock.ts';
import { isHeldBack } from '../../src/core/held-back.ts';
import { podKey } from '../../src/core/sandbox.ts';
import { known } from '../../src/lab/apiserver/resource.ts';
import type { Judge } from '../lab/whole-path.ts';
import type { Image } from './images.ts';
import { PAGE, TERWAY } from './page.ts';
import type { Stage, StageNode } from './stage.ts';
import { installTerway, TERWAY_CONFIG, TERWAY_CONFLIST, TERWAY_PLUGIN, TERWAY_SET } from './terway-stand-in.ts';
import { until } from './until.ts';

const DATABASE = 'var/lib/cni/terway/ResRelation.db';
const CONFLIST = 'etc/cni/net.d/10-enactor.conflist';
const LOCK = 'run/eni/terwayd.lock';

/** Of what Terway leaves on a node, as `whatIsLeft` tells it: none of it is ours to take. */
export const TERWAYS_OWN = ['var/lib/cni/terway/ ', `${DATABASE} `, `${TERWAY_CONFLIST} `, `${TERWAY_PLUGIN} `];

export type OutAndIn = { readonly judge: Judge; readonly say: (line: string) => void; readonly image: Image };

/** Both nodes run our daemon. Without a kubectl nothing is done, and it is told. */
export async function outAndIn(stage: Stage, on: StageNode, { judge, say, image }: OutAndIn): Promise<boolean> {
  const { hands, lab, deploy } = stage;
  const { node, agent } = on;
  if (hands.env === null) {
    const done: readonly string[] = Object.values(PAGE);
    for (const command of Object.values(TERWAY)) if (!done.includes(command)) hands.left.add(command);
    return false;
  }
  const there = (path: string) => existsSync(join(node.root, path));
  const onlyReady = async (set: string) =>
    until(`of the three ${set} alone is on ${node.name}, and ready`, async () => {
      const [, ...rows] = (await hands.type(TERWAY.who, node.name)).trimEnd().split('\n');
      return rows.length === 1 && new RegExp(`^${set}-\\w+ +1/1 `).test(rows[0] ?? '');
    });
  const pods = async () => {
    const report = await node.report();
    if (report === null) throw new Error(`${node.name}: no daemon answers`);
    return report.leases
      .filter(({ sandbox }) => !isHeldBack(sandbox))
      .map(({ sandbox, grant }) => `${podKey(sandbox.pod)} ${grant.address.ipv4} ${sandbox.containerId}`)
      .sort();
  };

  await hands.type(TERWAY.allOurs);
  const takeTerwayOut = installTerway(lab.api, image);
  await hands.type(TERWAY.patch);
  await hands.type(TERWAY.patched);
  await stage.whenNoneRuns(TERWAY_SET);
  deploy.addComponent('node-by-node');
  await hands.type(TERWAY.apply);
  await hands.type(TERWAY.rolledOut);
  await hands.type(TERWAY.giveBack);
  await onlyReady('enactor');
  const before = await pods();
  judge.ok(before.length > 0, `${before.length} pods of ${node.name} go out and come in`);

  await hands.type(TERWAY.out, node.name);
  await onlyReady('enactor-give-back');
  const told = await hands.type(TERWAY.gaveBack);
  for (const line of before) judge.ok(told.includes(`${line.split(' ')[0]}`), `it is told of ${line}`);
  const { records = [] } = readTerwayDatabase(join(node.root, DATABASE)) ?? {};
  const written = records.map(({ pod, ipv4, containerId }) => `${podKey(pod)} ${ipv4} ${containerId}`).sort();
  judge.strictSame(written, before, 'Terway’s database has each pod, its address and its sandbox');
  judge.equal(there(CONFLIST), false, 'the runtime uses nothing of ours');
  judge.equal(agent.runs('enactor'), false, 'our daemon has left the node');
  judge.equal(isLockHeld(join(node.root, LOCK)), false, 'and the lock');

  await hands.type(TERWAY.theirs, node.name);
  await onlyReady(TERWAY_SET);
  await until('Terway’s daemon has its lock', async () => isLockHeld(join(node.root, LOCK)) && there(TERWAY_CONFLIST));
  say(`${node.name} is Terway’s, and its ${before.length} pods run`);

  await hands.type(TERWAY.in, node.name);
  await onlyReady('enactor');
  await stage.pause(on, 0);
  judge.strictSame(await pods(), before, 'each pod has its lease again: address and sandbox');
  const leases = await hands.type(TERWAY.leases, node.name);
  if (!hands.left.has(TERWAY.leases))
    for (const line of before) judge.ok(leases.includes(line.split(' ')[1] ?? ''), `enactor leases tells ${line}`);
  judge.ok(there(CONFLIST), 'the runtime uses ours');
  judge.equal(readFileSync(join(node.root, TERWAY_PLUGIN)).length > 1_000, true, 'and under Terway’s name ours too');
  const config = lab.api.store.get(known('configmaps'), 'kube-system', TERWAY_CONFIG);
  judge.strictSame(config?.data, { eni_conf: '{}' }, 'Terway’s ConfigMap is as it was');
  takeTerwayOut();
  say(`${node.name} is ours again`);
  return true;
}
