/** `enactor lab paths`: tries every path through services in a lab of its own, and prints the table of checks/paths.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { BoxError, insideBox } from '../lab/box/box-command.ts';
import { onStopRequest, runInBox } from '../lab/box/run-in-box.ts';
import { modesTable } from '../lab/checks/modes-table.ts';
import { pathTable, withTable } from '../lab/checks/path-table.ts';
import type { PodMode } from '../lab/checks/pod-modes.ts';
import { servicePaths } from '../lab/checks/service-paths.ts';
import { startScene } from '../lab/checks/service-scene.ts';
import { type PathVerdict, rightCidr, tryForm, withProxies } from '../lab/checks/try-service-paths.ts';
import type { ProxyForm } from '../lab/services/kube-proxy.ts';
import { missingForServices } from '../lab/services/needs.ts';
import { CommandError, EXIT } from './exit-codes.ts';

export type PathsWanted = {
  readonly into: string | null;
  readonly modes: readonly PodMode[];
  readonly forms: readonly ProxyForm[];
  /** How many times as long to wait for what may take a while. */
  readonly patience: number;
};

const START_MS = 60_000;

/** Resolves with 0 when every path is as it should be. Throws CommandError. */
export async function labPaths({ into, modes, forms, patience }: PathsWanted): Promise<number> {
  const missing = missingForServices(forms);
  if (missing !== null) throw new CommandError(EXIT.cannot, missing);
  if (!insideBox()) {
    try {
      return await runInBox([process.execPath, ...process.execArgv, ...process.argv.slice(1)]);
    } catch (error) {
      if (error instanceof BoxError) throw new CommandError(EXIT.cannot, error.message);
      throw error;
    }
  }
  const stop = new AbortController();
  onStopRequest(
    () => stop.abort(),
    () => process.exit(EXIT.interrupted), // asked twice: the kernel takes the box away with us
  );
  const say = (line: string) => process.stderr.write(`${line}\n`);
  const byMode = new Map<PodMode, readonly PathVerdict[]>();
  const trouble: string[] = [];
  for (const mode of modes) {
    say(`pods: ${mode}`);
    const tried = await tryAll(mode, { forms, patience }, say, stop.signal);
    if (stop.signal.aborted) return EXIT.interrupted;
    byMode.set(mode, tried.verdicts);
    trouble.push(...tried.trouble);
  }
  print(byMode, forms, into);
  const verdicts = [...byMode.values()].flat();
  const bad = verdicts.filter(({ ok }) => !ok);
  say(`${verdicts.length - bad.length} of ${verdicts.length} paths are as they should be`);
  for (const line of trouble) say(`trouble: ${line}`);
  return bad.length + trouble.length === 0 ? EXIT.ok : EXIT.failed;
}

function print(
  byMode: ReadonlyMap<PodMode, readonly PathVerdict[]>,
  forms: readonly ProxyForm[],
  into: string | null,
): void {
  // Few kernels have it: the table ipvs-modes of checks/paths.md is of virtual machines, one for each way to connect pods (test/vm, case F4).
  if (forms.includes('ipvs')) {
    process.stdout.write(`${modesTable(byMode, [...byMode.keys()])}\n`);
    return;
  }
  const tables = tablesOf(byMode);
  for (const { name, text } of tables)
    if (into === null) process.stdout.write(`${text}\n\n`);
    else writeFileSync(into, withTable(readFileSync(into, 'utf8'), text, name));
}

function tablesOf(byMode: ReadonlyMap<PodMode, readonly PathVerdict[]>): { name: string; text: string }[] {
  const veth = byMode.get('veth');
  return [
    ...(veth === undefined ? [] : [{ name: 'paths', text: pathTable(veth) }]),
    ...(byMode.has('VPCIP') || byMode.has('VPCENI')
      ? [{ name: 'modes', text: modesTable(byMode, ['VPCIP', 'VPCENI']) }]
      : []),
    ...(byMode.has('ipvlan') ? [{ name: 'ipvlan', text: modesTable(byMode, ['ipvlan']) }] : []),
  ];
}

async function tryAll(
  mode: PodMode,
  { forms, patience }: Pick<PathsWanted, 'forms' | 'patience'>,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<{ verdicts: readonly PathVerdict[]; trouble: readonly string[] }> {
  const within = patience * START_MS;
  const scene = await startScene({ say, signal, servingTimeoutMs: within, podStartTimeoutMs: within }, mode);
  const verdicts: PathVerdict[] = [];
  const trouble: string[] = [];
  try {
    for (const form of forms) {
      if (signal.aborted) break;
      say(`kube-proxy in its ${form} form`);
      const paths = servicePaths(mode, form);
      // What kube-proxy in IPVS mode leaves to the first router to drop is not counted against anybody.
      const lost = form === 'ipvs' ? paths.filter((path) => path.expected[4] === 'dropped') : [];
      const tried = await withProxies(scene, form, rightCidr(mode), async () => {
        const all = await tryForm(scene, form, { patience, paths: paths.filter((path) => !lost.includes(path)) });
        const { verdicts } = await tryForm(scene, form, { patience, paths: lost });
        return { ...all, verdicts: [...all.verdicts, ...verdicts] };
      });
      verdicts.push(...tried.verdicts);
      for (const { family, path, ok, why } of tried.verdicts)
        if (!ok) say(`✘ ${mode} ${form} IPv${family} ${path.words}: ${why}`);
      say(`${tried.verdicts.length} paths were tried`);
      const { routingFault, unknownSource } = tried.refused;
      if (routingFault + unknownSource > 0)
        say(`the router refused ${routingFault} packets that left by a wrong ENI, ${unknownSource} of nobody’s source`);
    }
  } finally {
    trouble.push(...(await scene.lab.stop()));
  }
  return { verdicts, trouble };
}
