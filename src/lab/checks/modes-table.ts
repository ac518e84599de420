/** The table of paths by how pods are connected: what the far end saw, once where proxies and families agree. */
import type { Family } from '../../core/ip.ts';
import { PROXY_FORMS, type ProxyForm } from '../services/kube-proxy.ts';
import { SERVICE_PATHS, type ServicePath } from './service-paths.ts';

const FORMS: readonly ProxyForm[] = [...PROXY_FORMS, 'ipvs'];

/** What one try showed; `path` by its words alone, so that it may come from another process. */
export type Seen = {
  readonly path: Pick<ServicePath, 'words'>;
  readonly form: ProxyForm;
  readonly family: Family;
  readonly ok: boolean;
  readonly seen: string;
};

/** A column for each of `modes`, a row for each of `paths`. ✘ marks what is not as it should be in its mode. */
export function modesTable<Mode extends string>(
  byMode: ReadonlyMap<Mode, readonly Seen[]>,
  modes: readonly Mode[],
  paths: readonly string[] = SERVICE_PATHS.map(({ words }) => words),
): string {
  const rows = paths.map((words) => [words, ...modes.map((mode) => cellOf(words, byMode.get(mode) ?? []))]);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const head = ['path', ...modes];
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function cellOf(words: string, all: readonly Seen[]): string {
  const tried = all.filter(({ path }) => path.words === words);
  const told = ({ ok, seen }: Seen) => (ok ? seen : `✘ ${seen}`);
  const answers = [...new Set(tried.map(told))];
  if (answers.length < 2) return answers[0] ?? '–';
  const byFamily = ([4, 6] as const).map((family) => ({
    family,
    answers: [...new Set(tried.filter((one) => one.family === family).map(told))],
  }));
  if (byFamily.every((one) => one.answers.length < 2))
    return byFamily
      .flatMap(({ family, answers: [one] }) => (one === undefined ? [] : `IPv${family} ${one}`))
      .join(', ');
  return FORMS.flatMap((form) =>
    tried.filter((one) => one.form === form).map((one) => `${form} IPv${one.family} ${told(one)}`),
  ).join(', ');
}
