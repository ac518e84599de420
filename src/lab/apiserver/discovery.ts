/** The paths beside the resources: health, version, and enough discovery for kubectl to find the resources. */
import type { JsonObject } from './kube-object.ts';
import { RESOURCES } from './resource.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Text or JSON for a path that is not a resource; null for others. */
export function discovery(path: string): string | JsonObject | null {
  switch (path.replace(/\/$/, '')) {
    case '/healthz':
    case '/livez':
    case '/readyz':
      return 'ok';
    case '/version':
      return { major: '1', minor: '30', gitVersion: 'v1.30.0-enactor-lab', platform: 'linux/amd64' };
    case '/api':
      return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] };
    case '/apis':
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: [] };
    case '/api/v1':
      return { kind: 'APIResourceList', groupVersion: 'v1', resources: resourceList() };
    default:
      return null;
  }
}

function resourceList(): JsonObject[] {
  return RESOURCES.flatMap(({ plural: name, singular: singularName, kind, namespaced, shortNames, status }) => [
    { name, singularName, kind, namespaced, shortNames, verbs: VERBS },
    ...(status
      ? [{ name: `${name}/status`, singularName: '', kind, namespaced, verbs: ['get', 'patch', 'update'] }]
      : []),
  ]);
}
