/** The table of paths as Markdown, and its place in a document: between two marks, so that a program can renew it and a test can compare. */
import type { Family } from '../../core/ip.ts';
import { PROXY_FORMS } from '../services/kube-proxy.ts';
import { SERVICE_PATHS, type ServicePath } from './service-paths.ts';
import type { PathVerdict } from './try-service-paths.ts';

/** The table's name, in its marks. */
const PATHS = 'paths';
const FAMILIES: readonly Family[] = [4, 6];

/** One row a path; a cell tells which source the far end saw, or `dropped`, with ✘ where it should have been otherwise. */
export function pathTable(verdicts: readonly PathVerdict[]): string {
  const columns = PROXY_FORMS.flatMap((form) => FAMILIES.map((family) => ({ form, family })));
  const titles = columns.map(({ form, family }) => `${form === 'nft' ? 'nftables' : form} IPv${family}`);
  const rows = SERVICE_PATHS.map((path) => [
    path.words,
    shouldBe(path),
    ...columns.map(({ form, family }) => {
      const verdict = verdicts.find((one) => one.path === path && one.form === form && one.family === family);
      return verdict === undefined ? '–' : cell(verdict);
    }),
  ]);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const head = ['path', 'source seen, as it should be', ...titles];
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function shouldBe({ expected, families }: ServicePath): string {
  const said = families.map((family) => {
    const one = expected[family];
    return one === 'dropped' ? 'dropped' : one.seenAs;
  });
  return [...new Set(said)].length === 1
    ? (said[0] ?? '')
    : families.map((family, index) => `IPv${family} ${said[index]}`).join(', ');
}

function cell({ ok, seen }: PathVerdict): string {
  return ok ? seen : `✘ ${seen}`;
}

/** The document with this table in it. Throws when it has no place for one. */
export function withTable(document: string, table: string, name = PATHS): string {
  const [begin, end] = marks(document, name);
  return `${document.slice(0, begin)}\n\n${table}\n\n${document.slice(end)}`;
}

/** The table that the document has. Throws when it has no place for one. */
export function tableIn(document: string, name = PATHS): string {
  const [begin, end] = marks(document, name);
  return document.slice(begin, end).trim();
}

function marks(document: string, name: string): [begin: number, end: number] {
  const [first, last] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [begin, end] = [document.indexOf(first), document.indexOf(last)];
  if (begin < 0 || end < begin) throw new Error(`the document has no ${first} … ${last}`);
  return [begin + first.length, end];
}
