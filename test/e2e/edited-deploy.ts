/**
 * The folder deploy/ as somebody has edited it who follows deploy/install.md: the image's name and tag, the overlay's configuration. The lab adds
 * what no cluster needs: endpoints of its cloud, that its devices are veths, and short rests.
 */
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1ConfigMap } from '@kubernetes/client-node';
import { dump, load } from 'js-yaml';
import { type Lab, SHORT_RESTS } from '../../src/lab/lab.ts';
import { OPENAPI_PORT } from '../../src/lab/node/lab-node.ts';
import type { Image } from './images.ts';

const CONFIG = 'overlays/eni-multi-ip/config.yaml';
const CONFIG_KEY = 'eni_conf';
/** After which the endpoints come. */
const LAST_ARGUMENT = '            - --cni-conf-dir=/etc/cni/net.d\n';

export class EditedDeploy {
  /** In which `deploy` is: where the page's commands are typed. */
  readonly folder: string;
  readonly #lab: Lab;

  constructor(lab: Lab, folder: string) {
    this.#lab = lab;
    this.folder = folder;
    cpSync('deploy', join(folder, 'deploy'), { recursive: true });
    const openApi = `127.0.0.1:${OPENAPI_PORT}`;
    const endpoints = [`--ecs-endpoint=${openApi}`, `--vpc-endpoint=${openApi}`, '--cloud-scheme=http'];
    const lines = endpoints.map((one) => `            - ${one}\n`).join('');
    this.edit('base/daemonset.yaml', LAST_ARGUMENT, `${LAST_ARGUMENT}${lines}`);
  }

  /** Throws Error when the text is not in the file. */
  edit(file: string, from: string | RegExp, to: string): void {
    const path = join(this.folder, 'deploy', file);
    const text = readFileSync(path, 'utf8');
    const edited = text.replace(from, to);
    if (edited === text && !text.includes(to)) throw new Error(`${file} has no ${from}`);
    writeFileSync(path, edited);
  }

  /** Of all that is applied. */
  nameImage({ name }: Image): void {
    const [newName = '', newTag = ''] = name.split(/:(?=[^:]*$)/);
    for (const folder of ['base', 'uninstall', 'give-back']) {
      const file = `${folder}/kustomization.yaml`;
      this.edit(
        file,
        /(- name: enactor\n)(?: +newName: .*\n)?( +)newTag: .*/,
        `$1$2newName: ${newName}\n$2newTag: ${newTag}`,
      );
    }
  }

  /** As somebody adds one who takes away its line's comment sign. */
  addComponent(name: string): void {
    const file = 'overlays/eni-multi-ip/kustomization.yaml';
    this.edit(file, '# components:', 'components:');
    this.edit(file, `#   - ../../components/${name}\n`, `  - ../../components/${name}\n`);
  }

  /** `edits`: over the configuration of the overlay. */
  configure(edits: Readonly<Record<string, unknown>> = {}): void {
    const path = join(this.folder, 'deploy', CONFIG);
    const map = load(readFileSync(path, 'utf8')) as V1ConfigMap;
    const shipped = JSON.parse(map.data?.[CONFIG_KEY] ?? '{}') as Readonly<Record<string, unknown>>;
    const { vSwitches } = this.#lab.truth();
    const zones = [...new Set(vSwitches.map(({ zoneId }) => zoneId))];
    const of = (zone: string) => (one: { readonly zoneId: string }) => one.zoneId === zone;
    const config = {
      ...shipped,
      cluster_id: 'e2e',
      vswitches: Object.fromEntries(
        zones.map((zone) => [zone, vSwitches.filter(of(zone)).map((one) => one.vSwitchId)]),
      ),
      security_groups: ['sg-lab'],
      ...{ min_pool_size: 1, max_pool_size: 3, eni_link_kinds: ['device', 'veth'], ...SHORT_RESTS, ...edits },
    };
    writeFileSync(path, dump({ ...map, data: { [CONFIG_KEY]: JSON.stringify(config, null, 2) } }));
  }
}
