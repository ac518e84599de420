/**
 * Label and field selectors as tests over objects.
 *
 * Source: Kubernetes apimachinery pkg/labels/selector.go and pkg/fields/selector.go. Label values and keys are not checked for
 * their syntax.
 */
import { badRequest } from './api-error.ts';
import { at, type KubeObject } from './kube-object.ts';
import type { Resource } from './resource.ts';

export type Selector = (object: KubeObject) => boolean;

const everything: Selector = () => true;

/** `a=b`, `a!=b`, `a in (x, y)`, `a notin (x)`, `a`, `!a`, joined by commas. Throws ApiError 400. */
export function labelSelector(text: string | null): Selector {
  if (text === null || text.trim() === '') return everything;
  const tests = splitOutside(text).map((part) => labelTest(part.trim(), text));
  return (object) => tests.every((test) => test(object.metadata.labels ?? {}));
}

type LabelTest = (labels: Readonly<Record<string, string>>) => boolean;

function labelTest(part: string, whole: string): LabelTest {
  const set = /^(\S+)\s+(in|notin)\s+\(([^()]*)\)$/.exec(part);
  if (set !== null) {
    const [, key = '', operator, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    // A label that is absent is not in any set, so notin holds.
    return (labels) => values.includes(labels[key] ?? '\0') === (operator === 'in');
  }
  const equality = /^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$/.exec(part);
  if (equality !== null) {
    const [, key = '', operator, value = ''] = equality;
    return (labels) => (labels[key] === value) === (operator !== '!=');
  }
  const presence = /^(!?)\s*([^\s=!(),]+)$/.exec(part);
  if (presence === null)
    throw badRequest(`unable to parse requirement: ${JSON.stringify(part)} in ${JSON.stringify(whole)}`);
  const [, not, key = ''] = presence;
  return (labels) => (labels[key] !== undefined) === (not === '');
}

function splitOutside(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] === '(') depth += 1;
    if (text[index] === ')') depth -= 1;
    if (text[index] !== ',' || depth > 0) continue;
    parts.push(text.slice(from, index));
    from = index + 1;
  }
  return [...parts, text.slice(from)];
}

/** `path=value`, `path==value`, `path!=value`, joined by commas; `\` escapes. Throws ApiError 400 on labels unknown to the resource. */
export function fieldSelector(resource: Resource, text: string | null): Selector {
  if (text === null || text.trim() === '') return everything;
  const terms = text.split(/(?<!\\),/).filter((term) => term !== '');
  const tests = terms.map((term): Selector => {
    const match = /^([^=!]+)(!=|==|=)(.*)$/s.exec(term);
    if (match === null) throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, field = '', operator, escaped = ''] = match;
    if (!resource.fieldLabels.includes(field)) throw badRequest(`field label not supported: ${field}`);
    const wanted = escaped.replace(/\\([\\,=])/g, '$1');
    return (object) => (fieldValue(object, field) === wanted) === (operator !== '!=');
  });
  return (object) => tests.every((test) => test(object));
}

/** Booleans select by their text and are false when absent; everything else absent is the empty string. */
function fieldValue(object: KubeObject, field: string): string {
  const value = at(object, field === 'source' ? 'source.component' : field);
  if (value !== undefined && value !== null) return String(value);
  return field === 'spec.hostNetwork' || field === 'spec.unschedulable' ? 'false' : '';
}
