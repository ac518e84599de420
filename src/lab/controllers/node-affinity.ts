/**
 * Whether a pod may be on a node by the node's labels: its `nodeSelector`, and the affinity that it requires.
 *
 * Terms are alternatives, what a term asks must all hold, and a term that asks nothing holds for no node.
 * Limits: `Gt` and `Lt`, `matchFields` and what is only preferred are not known: a term with one of the first three holds for no node.
 * Source: Kubernetes, component-helpers/scheduling/corev1/nodeaffinity; "Assigning Pods to Nodes".
 */
import { at, isJsonObject, type Json, type KubeObject } from '../apiserver/kube-object.ts';

type Labels = Readonly<Record<string, string>>;

/** `spec`: of the pod. */
export function isWanted(spec: Json | undefined, { metadata }: KubeObject): boolean {
  if (!isJsonObject(spec)) return true;
  const labels: Labels = metadata.labels ?? {};
  const selector = isJsonObject(spec.nodeSelector) ? Object.entries(spec.nodeSelector) : [];
  const required = at(spec, 'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution');
  return (
    selector.every(([key, value]) => labels[key] === value) &&
    (required === undefined || listIn(required, 'nodeSelectorTerms').some((term) => holds(term, labels)))
  );
}

function holds(term: Json, labels: Labels): boolean {
  const asked = listIn(term, 'matchExpressions');
  return asked.length > 0 && listIn(term, 'matchFields').length === 0 && asked.every((one) => isMet(one, labels));
}

function isMet(expression: Json, labels: Labels): boolean {
  if (!isJsonObject(expression)) return false;
  const { key, operator } = expression;
  const value = typeof key === 'string' && Object.hasOwn(labels, key) ? labels[key] : undefined;
  const isListed = value !== undefined && listIn(expression, 'values').includes(value);
  switch (operator) {
    case 'In':
      return isListed;
    case 'NotIn':
      return !isListed;
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false;
  }
}

function listIn(value: Json, key: string): readonly Json[] {
  const list = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return Array.isArray(list) ? list : [];
}
