/**
 * What a client learns of the resources' shapes before it sends any: nothing, said in the form that it asks for. kubectl cannot be brought to apply
 * without an answer; one that describes no kind makes it leave the checking to the server, which offers `fieldValidation` where it has been given the fields.
 *
 * Source: kubectl, pkg/cmd/util/factory_client_access.go (Validator); client-go, discovery_client.go (OpenAPISchema: protobuf alone);
 * cli-runtime, pkg/resource/query_param_verifier_v3.go (a parameter is looked for at the PATCH of the kind).
 */
import type { JsonObject } from './kube-object.ts';
import { GROUP_VERSIONS, groupOf, RESOURCES, type Resource } from './resource.ts';

export const OPENAPI_V2_TYPE = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

const TITLE = 'enactor-lab';
const VERSION = '1';
/** Of the messages Document and Info. Source: gnostic, openapiv2/OpenAPIv2.proto. */
const FIELD = { swagger: 1, info: 2, title: 1, version: 2 } as const;

/** A document of version 2 without paths and kinds, as protobuf. */
export function openApiV2(): Buffer {
  const info = Buffer.concat([field(FIELD.title, Buffer.from(TITLE)), field(FIELD.version, Buffer.from(VERSION))]);
  return Buffer.concat([field(FIELD.swagger, Buffer.from('2.0')), field(FIELD.info, info)]);
}

/** Of up to 127 bytes. */
function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}

/** Version 3: the index, or one group's document; null for another path. */
export function openApiV3(path: string, checksFields: boolean): JsonObject | null {
  if (path === '/openapi/v3') {
    const at = (below: string) => [below, { serverRelativeURL: `/openapi/v3/${below}` }];
    return { paths: Object.fromEntries(['api/v1', ...GROUP_VERSIONS.map((one) => `apis/${one}`)].map(at)) };
  }
  const [, apiVersion = ''] = /^\/openapi\/v3\/(?:api|apis)\/(.+)$/.exec(path) ?? [];
  const those = RESOURCES.filter((resource) => resource.apiVersion === apiVersion);
  if (those.length === 0) return null;
  return {
    openapi: '3.0.0',
    info: { title: TITLE, version: VERSION },
    paths: Object.fromEntries(those.map((resource) => [pathOf(resource), { patch: patchOf(resource, checksFields) }])),
  };
}

function pathOf({ apiVersion, namespaced, plural }: Resource): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${root}${namespaced ? '/namespaces/{namespace}' : ''}/${plural}/{name}`;
}

function patchOf(resource: Resource, checksFields: boolean): JsonObject {
  const { kind, apiVersion } = resource;
  return {
    parameters: checksFields ? [{ name: 'fieldValidation', in: 'query', schema: { type: 'string' } }] : [],
    responses: { 200: { description: 'OK' } },
    'x-kubernetes-action': 'patch',
    'x-kubernetes-group-version-kind': { group: groupOf(resource), version: apiVersion.split('/').at(-1) ?? '', kind },
  };
}
