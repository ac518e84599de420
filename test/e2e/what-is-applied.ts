/**
 * What a user applies to the cluster: the overlay ENIMultiIP of deploy/, with the edits that deploy/install.md asks for (image, configuration). The
 * lab adds what no cluster needs: endpoints of its cloud, and that its devices are veths.
 */
import type { V1DaemonSet } from '@kubernetes/client-node';
import type { Lab } from '../../src/lab/lab.ts';
import { OPENAPI_PORT } from '../../src/lab/node/lab-node.ts';
import { configMapOf, daemonSetOf, named, type Rendered, render } from './kustomize.ts';
import type { Cluster } from './pod-volumes.ts';

const OVERLAY = 'deploy/overlays/eni-multi-ip';
const UNINSTALL = 'deploy/uninstall';
const CONFIG_KEY = 'eni_conf';

/** Short rests, so that a minute shows what an hour does. */
const QUICK = {
  ...{
    eni_min_age: '0s',
    cool_down: '3s',
    hold_down: '10s',
    pool_period: '2s',
    describe_period: '200ms',
    backoff: '200ms',
  },
};

export type Applied = { readonly set: V1DaemonSet; readonly cluster: Cluster };

/** `image`: name and tag. `edits`: over the configuration of the overlay. */
export function applied(lab: Lab, image: string, edits: Readonly<Record<string, unknown>> = {}): Applied {
  const objects = render(OVERLAY);
  const set = withImage(objects, image);
  const map = configMapOf(objects);
  const shipped = JSON.parse(map.data?.[CONFIG_KEY] ?? '{}') as Readonly<Record<string, unknown>>;
  const { vSwitches } = lab.truth();
  const zones = [...new Set(vSwitches.map(({ zoneId }) => zoneId))];
  const of = (zone: string) => (one: { readonly zoneId: string }) => one.zoneId === zone;
  const config = {
    ...shipped,
    cluster_id: 'e2e',
    vswitches: Object.fromEntries(zones.map((zone) => [zone, vSwitches.filter(of(zone)).map((one) => one.vSwitchId)])),
    security_groups: ['sg-lab'],
    ...{ min_pool_size: 1, max_pool_size: 3, eni_link_kinds: ['device', 'veth'], ...QUICK, ...edits },
  };
  const [daemon] = set.spec?.template.spec?.containers ?? [];
  const openApi = `127.0.0.1:${OPENAPI_PORT}`;
  daemon?.args?.push(`--ecs-endpoint=${openApi}`, `--vpc-endpoint=${openApi}`, '--cloud-scheme=http');
  return {
    set,
    cluster: {
      token: lab.api.token,
      configMaps: new Map([
        [map.metadata?.name ?? '', { [CONFIG_KEY]: JSON.stringify(config, null, 2) }],
        ['kube-root-ca.crt', { 'ca.crt': lab.api.ca }],
      ]),
    },
  };
}

/** The DaemonSet that takes Enactor off the nodes. */
export function uninstalling(lab: Lab, image: string): Applied {
  return { set: withImage(render(UNINSTALL), image), cluster: { token: lab.api.token, configMaps: new Map() } };
}

function withImage(objects: readonly Rendered[], image: string): V1DaemonSet {
  const [newName = '', newTag = ''] = image.split(/:(?=[^:]*$)/);
  for (const object of objects) named(object, [{ name: 'enactor', newName, newTag }]);
  return daemonSetOf(objects);
}
