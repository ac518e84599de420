/**
 * Fields that a kind does not have, named before anything is stored: what `kubectl apply` asks for, so that a misspelt manifest is not half of one.
 * What a kind has is taken from the models of the client library, 15 MB that the lab's programs do without: so a server is given this, or does not check.
 *
 * Limits: names alone, no types of values and no doubled keys; kinds without a model are not looked at.
 * Source: Kubernetes API concepts, "Field validation"; the words are those of `strict decoding error`.
 */
import * as library from '@kubernetes/client-node';
import { badRequest } from '../../src/lab/apiserver/api-error.ts';
import { isJsonObject, type Json, type JsonObject } from '../../src/lab/apiserver/kube-object.ts';
import type { Resource } from '../../src/lab/apiserver/resource.ts';

type Attribute = { readonly baseName: string; readonly type: string };
type Model = { getAttributeTypeMap(): readonly Attribute[] };

/** Rejects with ApiError 400 that names each unknown field. */
export async function refuseUnknownFields({ kind }: Resource, body: JsonObject): Promise<void> {
  const modelOf = (type: string): Model | null => {
    const model = (library as Readonly<Record<string, unknown>>)[type];
    return typeof model === 'function' && 'getAttributeTypeMap' in model ? (model as unknown as Model) : null;
  };
  const unknown = [...unknownFields(modelOf, kind === 'Event' ? 'CoreV1Event' : `V1${kind}`, body, '')];
  if (unknown.length === 0) return;
  throw badRequest(`strict decoding error: ${unknown.map((path) => `unknown field "${path}"`).join(', ')}`);
}

function* unknownFields(
  modelOf: (type: string) => Model | null,
  type: string,
  value: Json | undefined,
  path: string,
): Generator<string> {
  const [, item] = /^Array<(.+)>$/.exec(type) ?? [];
  const [, entry] = /^\{ \[key: string\]: (.+); \}$/.exec(type) ?? [];
  if (item !== undefined && Array.isArray(value)) {
    for (const [index, one] of value.entries()) yield* unknownFields(modelOf, item, one, `${path}[${index}]`);
  } else if (entry !== undefined && isJsonObject(value)) {
    for (const [key, one] of Object.entries(value)) yield* unknownFields(modelOf, entry, one, `${path}.${key}`);
  } else if (isJsonObject(value)) {
    const attributes = modelOf(type)?.getAttributeTypeMap();
    if (attributes === undefined) return;
    for (const [key, one] of Object.entries(value)) {
      const at = path === '' ? key : `${path}.${key}`;
      const attribute = attributes.find(({ baseName }) => baseName === key);
      if (attribute === undefined) yield at;
      else yield* unknownFields(modelOf, attribute.type, one, at);
    }
  }
}
