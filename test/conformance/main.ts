/**
 * `npm run conformance -- [--plugin PATH --conf FILE] [--json]`: 46 points that every CNI plugin should keep, asked of ours or of any other.
 *
 * Of another plugin the configuration has to be given (a file as on stdin: `cniVersion`, `name`, `type` and what the plugin needs). Needs root, `ip`
 * and `nsenter`; everything happens in namespaces of its own. Exit code 1 when a point fails.
 */
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { cannotMakeNamespaces } from '../adapters/netlink/namespaces.ts';
import { PLUGIN } from '../plugin/plugin-process.ts';
import { ourSubject } from './our-subject.ts';
import type { Subject } from './subject.ts';
import { tryPlugin, type Verdict } from './try-plugin.ts';

const USAGE = 'usage: npm run conformance -- [--plugin PATH --conf FILE] [--json]';
const SIGN = { holds: '✔', fails: '✘', 'not asked': '–' } as const;

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { plugin: { type: 'string' }, conf: { type: 'string' }, json: { type: 'boolean', default: false } },
  });
  const cannot = cannotMakeNamespaces();
  if (cannot !== false) return told(cannot, 3);
  const endings: (() => unknown)[] = [];
  const subject = await subjectOf(values.plugin, values.conf, (work) => endings.push(work));
  if (typeof subject === 'string') return told(subject, 2);
  if (!existsSync(subject.plugin)) return told(`there is no ${subject.plugin}`, 2);
  const verdicts = await tryPlugin(subject, (verdict) => {
    if (!values.json) process.stdout.write(`${line(verdict)}\n`);
  });
  for (const end of endings.reverse()) await end();
  const count = (outcome: Verdict['outcome']) => verdicts.filter((one) => one.outcome === outcome).length;
  if (values.json) process.stdout.write(`${JSON.stringify({ plugin: subject.plugin, verdicts }, null, 2)}\n`);
  else
    process.stdout.write(
      `\n${subject.plugin}: ${count('holds')} of ${verdicts.length} points hold, ${count('fails')} fail, ${count('not asked')} were not asked\n`,
    );
  return count('fails') === 0 ? 0 : 1;
}

async function subjectOf(
  plugin: string | undefined,
  conf: string | undefined,
  teardown: (work: () => unknown) => void,
): Promise<Subject | string> {
  if (conf === undefined && (plugin === undefined || plugin === PLUGIN)) return ourSubject({ teardown } as never);
  if (conf === undefined || plugin === undefined) return `--plugin and --conf go together; ${USAGE}`;
  try {
    return { plugin, conf: JSON.parse(readFileSync(conf, 'utf8')), hands: null };
  } catch (error) {
    return `--conf ${conf}: ${error instanceof Error ? error.message : error}`;
  }
}

function line({ number, words, outcome, why }: Verdict): string {
  return `${SIGN[outcome]} ${String(number).padStart(2)} ${words}${why === '' ? '' : `\n       ${why}`}`;
}

function told(text: string, exitCode: number): number {
  process.stderr.write(`${text}\n`);
  return exitCode;
}

process.exitCode = await main();
