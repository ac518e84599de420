/**
 * Asks every 200 ms whether a node's network is ready, both ways that decide over the node's condition: the plugin's STATUS, as a newer runtime
 * calls it, and the status that this runtime gives the kubelet. Each answer that is not "ready" is kept, with when it came.
 *
 * Limit: containerd 1.6 knows no STATUS, so the plugin is run as a later one would, with the list that is installed.
 * Source: CNI SPEC 1.1, STATUS; cases/field P5, P6.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ImageNode } from './image-node.ts';

const PERIOD_MS = 200;
const PLUGIN = '/opt/cni/bin/enactor-cni';

export type Flap = { readonly atMs: number; readonly who: 'STATUS' | 'NetworkReady'; readonly said: string };

export class StatusWatch {
  readonly flaps: Flap[] = [];
  asked = 0;
  readonly #node: ImageNode;
  readonly #beginMs = performance.now();
  #stopped = false;
  readonly #done: Promise<unknown>;

  constructor(node: ImageNode) {
    this.#node = node;
    this.#done = Promise.all([
      this.#every('STATUS', () => this.#status()),
      this.#every('NetworkReady', () => this.#networkReady()),
    ]);
  }

  /** Resolves when the last questions have been answered. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#done;
  }

  async #every(who: Flap['who'], ask: () => Promise<void>): Promise<void> {
    while (!this.#stopped) {
      const beginMs = performance.now();
      await ask().catch((error: unknown) => {
        const said = error instanceof Error ? error.message : String(error);
        this.flaps.push({ atMs: Math.round(beginMs - this.#beginMs), who, said });
      });
      this.asked += 1;
      await sleep(Math.max(0, PERIOD_MS - (performance.now() - beginMs)));
    }
  }

  async #status(): Promise<void> {
    await callPlugin(this.#node, 'STATUS');
  }

  async #networkReady(): Promise<void> {
    const ready = (await this.#node.containerd.cri.conditions()).get('NetworkReady');
    if (ready !== true) throw new Error(`NetworkReady is ${ready}`);
  }
}

/** Runs the plugin that is installed on the node with the list that is installed there. Rejects with what it printed. */
export async function callPlugin(
  node: ImageNode,
  verb: 'STATUS' | 'CHECK',
  { env = {}, conf = {} }: { readonly env?: Readonly<Record<string, string>>; readonly conf?: object } = {},
): Promise<string> {
  const list = node.conflist();
  if (list === null) throw new Error('there is no CNI configuration');
  const cniVersion = list.cniVersions?.at(-1) ?? '1.0.0';
  const said = { CNI_COMMAND: verb, CNI_PATH: '/opt/cni/bin', ...env };
  const words = Object.entries(said).map(([key, value]) => `${key}=${value}`);
  const input = JSON.stringify({ ...list.plugins[0], cniVersion, name: list.name, ...conf });
  return node.run('env', ['-i', ...words, PLUGIN], input);
}
