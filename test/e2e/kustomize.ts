/**
 * What `kubectl kustomize` gives for the kustomizations of deploy/, as objects: resources, components, patches by files, namespace and images. A key
 * that it does not know is an error, so that a kustomization never says something that is not tried.
 * Source: kustomize, "The Kustomization File"; a folder's own transformations come after those of what it names, and a component's are of all that
 * came before it.
 */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { V1ConfigMap, V1DaemonSet, V1PodSpec } from '@kubernetes/client-node';
import { DEFAULT_SCHEMA, load, loadAll, Type } from 'js-yaml';
import type { JsonObject } from '../../src/lab/apiserver/kube-object.ts';
import { strategicMergePatch } from '../../src/lab/apiserver/merge-patch.ts';

export type Rendered = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; namespace?: string };
} & JsonObject;

export type ImageRule = { readonly name: string; readonly newName?: string; readonly newTag?: string };

type Kustomization = {
  readonly namespace?: string;
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly patches?: readonly { readonly path: string }[];
  readonly images?: readonly ImageRule[];
};

const KNOWN: ReadonlySet<string> = new Set([
  ...['apiVersion', 'kind', 'namespace', 'resources', 'components', 'patches', 'images'],
]);
const CLUSTER_WIDE = /^(ClusterRole|ClusterRoleBinding|ValidatingAdmissionPolicy|ValidatingAdmissionPolicyBinding)$/;

/** A mode of a file is written in octal there, as `0400`; YAML 1.2, and so js-yaml, would have it decimal. */
const WHOLE = new Type('tag:yaml.org,2002:int', {
  kind: 'scalar',
  resolve: (text: string | null) => text !== null && /^[-+]?\d+$/.test(text),
  construct: (text: string) => Number.parseInt(text, /^[-+]?0[0-7]+$/.test(text) ? 8 : 10),
});
export const YAML_1_1 = DEFAULT_SCHEMA.extend({ implicit: [WHOLE] });

/** Throws Error for a file that is not there, a key that is not known, or a patch of what is not there. */
export function render(folder: string): readonly Rendered[] {
  return rendered(folder, []);
}

/** `before`: what a component is added to. */
function rendered(folder: string, before: readonly Rendered[]): readonly Rendered[] {
  const kustomization = load(readFileSync(join(folder, 'kustomization.yaml'), 'utf8')) as Kustomization;
  const unknown = Object.keys(kustomization).find((key) => !KNOWN.has(key));
  if (unknown !== undefined) throw new Error(`${folder}/kustomization.yaml: ${unknown} is not rendered here`);
  const { namespace, resources = [], components = [], patches = [], images = [] } = kustomization;
  const named = resources.map((name) => join(folder, name));
  const own = named.flatMap((path) => (statSync(path).isDirectory() ? render(path) : objectsIn(path)));
  const all: readonly Rendered[] = [...before, ...own];
  const whole = components.reduce((objects, name) => rendered(join(folder, name), objects), all);
  const objects = patches.flatMap(({ path }) => objectsIn(join(folder, path))).reduce(patched, whole);
  for (const object of objects) {
    if (namespace !== undefined && !CLUSTER_WIDE.test(object.kind)) object.metadata.namespace = namespace;
    nameImages(object, images);
  }
  return objects;
}

function objectsIn(path: string): readonly Rendered[] {
  return loadAll(readFileSync(path, 'utf8'), null, { schema: YAML_1_1 }) as Rendered[];
}

function patched(objects: readonly Rendered[], patch: Rendered): readonly Rendered[] {
  const isMeant = ({ kind, metadata }: Rendered) => kind === patch.kind && metadata.name === patch.metadata.name;
  if (!objects.some(isMeant)) throw new Error(`there is no ${patch.kind} ${patch.metadata.name} to patch`);
  return objects.map((one) => (isMeant(one) ? (strategicMergePatch(one, patch) as Rendered) : one));
}

/** As `kustomize edit set image` and another rendering would have it. */
export function nameImages(object: Rendered, images: readonly ImageRule[]): void {
  const pod = (object as { spec?: { template?: { spec?: V1PodSpec } } }).spec?.template?.spec;
  for (const container of [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])])
    container.image = images.reduce(renamed, container.image ?? '');
}

function renamed(image: string, { name, newName = name, newTag }: ImageRule): string {
  const [, given, tag = ''] = /^(.*?)(:[^:/]+)?$/.exec(image) ?? [];
  return given === name ? `${newName}${newTag === undefined ? tag : `:${newTag}`}` : image;
}

/** The only one of its kind. Throws Error when there is none, or another. */
export function daemonSetOf(objects: readonly Rendered[]): V1DaemonSet {
  return only(objects, 'DaemonSet') as V1DaemonSet;
}

export function configMapOf(objects: readonly Rendered[]): V1ConfigMap {
  return only(objects, 'ConfigMap') as V1ConfigMap;
}

function only(objects: readonly Rendered[], kind: string): unknown {
  const found = objects.filter((object) => object.kind === kind);
  if (found.length !== 1) throw new Error(`${found.length} objects of kind ${kind}`);
  return found[0];
}
