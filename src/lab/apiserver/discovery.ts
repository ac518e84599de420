/** The paths beside the resources: health, version, enough discovery for kubectl to find the resources, and what OpenAPI there is. */
import type { JsonObject } from './kube-object.ts';
import { openApiV2, openApiV3 } from './openapi.ts';
import { GROUP_VERSIONS, RESOURCES } from './resource.ts';

const VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

/** Text, JSON, or the bytes of OpenAPI's version 2 for a path that is not a resource; null for others. */
export function discovery(
  path: string,
  { checksFields }: { readonly checksFields: boolean },
): string | Buffer | JsonObject | null {
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
      return { kind: 'APIGroupList', apiVersion: 'v1', groups: GROUPS };
    case '/api/v1':
      return resourceList('v1');
    case '/openapi/v2':
      return openApiV2();
    default: {
      const spec = openApiV3(path.replace(/\/$/, ''), checksFields);
      if (spec !== null) return spec;
      const group = GROUPS.find(({ name }) => path.replace(/\/$/, '') === `/apis/${name}`);
      if (group !== undefined) return { kind: 'APIGroup', apiVersion: 'v1', ...group };
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

const GROUPS = GROUP_VERSIONS.map(group);

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
