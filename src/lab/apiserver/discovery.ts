/** The paths beside the resources: health, version, and enough discovery for kubectl to find the resources. */
import type { JsonObject } from './kube-object.ts';
import { GROUP_VERSIONS, RESOURCES } from './resource.ts';

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
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: GROUP_VERSIONS.map(group) };
    case '/api/v1':
      return resourceList('v1');
    default: {
      const groupVersion = GROUP_VERSIONS.find((one) => path.replace(/\/$/, '') === `/apis/${one}`);
      return groupVersion === undefined ? null : resourceList(groupVersion);
    }
  }
}

function group(groupVersion: string): JsonObject {
  const [name = '', version = ''] = groupVersion.split('/');
  const preferredVersion = { groupVersion, version };
  return { name, versions: [preferredVersion], preferredVersion };
}

function resourceList(groupVersion: string): JsonObject {
  return { kind: 'APIResourceList', groupVersion, resources: resourcesOf(groupVersion) };
}

function resourcesOf(groupVersion: string): JsonObject[] {
  const those = RESOURCES.filter(({ apiVersion }) => apiVersion === groupVersion);
  return those.flatMap(({ plural: name, singular: singularName, kind, namespaced, shortNames, status }) => [
    { name, singularName, kind, namespaced, shortNames, verbs: VERBS },
    ...(status
      ? [{ name: `${name}/status`, singularName: '', kind, namespaced, verbs: ['get', 'patch', 'update'] }]
      : []),
  ]);
}
