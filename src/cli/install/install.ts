/**
 * The node's part of an installation, done by the DaemonSet's init container at each start: the plugin in its place, and the guest's agents told
 * to leave our ENIs alone. Doing it again changes nothing. The CNI configuration is the daemon's to place, once an ADD can succeed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { whyPluginFails } from '../plugin-trial.ts';
import { DROP_INS, type DropIn, type Primary } from './guest-agents.ts';
import { placeFile } from './place-file.ts';
import { hadTerway, keepTerwayPlugin, TERWAY_PLUGIN, terwayWorks } from './terway-name.ts';

export const PLUGIN_PATH = 'opt/cni/bin/enactor-cni';

export type Step = { readonly what: string; readonly path: string; readonly is: 'written' | 'there already' };

/**
 * Throws where Terway's daemon is at work, and then nothing is changed; the system error, which names the path; or what the host says of the plugin: it is run there before it takes the place of the one that is
 * there. `primary` null: no agent is told anything, since it would be told to leave all devices alone.
 */
export function install(
  root: string,
  plugin: string,
  primary: Primary | null,
  trial: (unfinished: string) => void = (unfinished) => tryOn(root, unfinished),
): readonly Step[] {
  const placed = (what: string, path: string, data: Buffer, mode: number, by?: typeof trial): Step => ({
    ...{ what, path, is: placeFile(join(root, path), data, mode, by) ? 'written' : 'there already' },
  });
  const there = ({ signs }: DropIn) => signs.some((sign) => existsSync(join(root, sign)));
  if (terwayWorks(root))
    throw new Error(
      'Terway’s daemon is at work on this node and holds terwayd.lock: nothing is changed; take its pod off the node first (deploy/terway.md)',
    );
  const data = readFileSync(plugin);
  const isTerways = hadTerway(root);
  if (isTerways) keepTerwayPlugin(root);
  const agents = primary === null ? [] : DROP_INS.filter(there).map((one) => ({ ...one, said: one.text(primary) }));
  return [
    placed('plugin', PLUGIN_PATH, data, 0o755, trial),
    ...(isTerways ? [placed('plugin under Terway’s name', TERWAY_PLUGIN, data, 0o755, trial)] : []),
    ...agents.map(({ agent, path, said }) => placed(agent, path, Buffer.from(said), 0o644)),
  ];
}

function tryOn(root: string, unfinished: string): void {
  const why = root === '/' ? whyPluginFails(unfinished, null) : whyPluginFails(`/${relative(root, unfinished)}`, root);
  if (why !== null) throw new Error(why);
}
