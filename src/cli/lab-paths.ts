/** `enactor lab paths`: tries every path through services in a lab of its own, and prints the table of checks/paths.md. */
import { readFileSync, writeFileSync } from 'node:fs';
import { BoxError, insideBox } from '../lab/box/box-command.ts';
import { onStopRequest, runInBox } from '../lab/box/run-in-box.ts';
import { modesTable } from '../lab/checks/modes-table.ts';
import { pathTable, withTable } from '../lab/checks/path-table.ts';
import type { PodMode } from '../lab/checks/pod-modes.ts';
import { startScene } from '../lab/checks/service-scene.ts';
import { type PathVerdict, rightCidr, tryForm, withProxies } from '../lab/checks/try-service-paths.ts';
import { PROXY_FORMS } from '../lab/services/kube-proxy.ts';
import { missingForServices } from '../lab/services/needs.ts';
import { CommandError, EXIT } from './exit-codes.ts';

export type PathsWanted = {
  readonly into: string | null;
  readonly modes: readonly PodMode[];
  /** How many times as long to wait for what may take a while. */
  readonly patience: number;
};

const START_MS = 60_000;

/** Resolves with 0 when every path is as it should be. Throws CommandError. */
export async function labPaths({ into, modes, patience }: PathsWanted): Promise<number> {
  const missing = missingForServices();
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
    const tried = await tryAll(mode, patience, say, stop.signal);
    if (stop.signal.aborted) return EXIT.interrupted;
    byMode.set(mode, tried.verdicts);
    trouble.push(...tried.trouble);
  }
  print(byMode, into);
  const verdicts = [...byMode.values()].flat();
  const bad = [...byMode].flatMap(([mode, all]) => all.filter(({ ok }) => !ok).map((one) => ({ mode, ...one })));
  for (const { mode, form, family, path, why } of bad) say(`✘ ${mode} ${form} IPv${family} ${path.words}: ${why}`);
  say(`${verdicts.length - bad.length} of ${verdicts.length} paths are as they should be`);
  for (const line of trouble) say(`trouble: ${line}`);
  return bad.length + trouble.length === 0 ? EXIT.ok : EXIT.failed;
}

function print(byMode: ReadonlyMap<PodMode, readonly PathVerdict[]>, into: string | null): void {
  const veth = byMode.get('veth');
  const tables = [
    ...(veth === undefined ? [] : [{ name: 'paths', text: pathTable(veth) }]),
    ...(byMode.has('VPCIP') || byMode.has('VPCENI')
      ? [{ name: 'modes', text: modesTable(byMode, ['VPCIP', 'VPCENI']) }]
      : []),
    ...(byMode.has('ipvlan') ? [{ name: 'ipvlan', text: modesTable(byMode, ['ipvlan']) }] : []),
  ];
  for (const { name, text } of tables)
    if (into === null) process.stdout.write(`${text}\n\n`);
    else writeFileSync(into, withTable(readFileSync(into, 'utf8'), text, name));
}

async function tryAll(
  mode: PodMode,
  patience: number,
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<{ verdicts: readonly PathVerdict[]; trouble: readonly string[] }> {
  const within = patience * START_MS;
  const scene = await startScene({ say, signal, servingTimeoutMs: within, podStartTimeoutMs: within }, mode);
  const verdicts: PathVerdict[] = [];
  const trouble: string[] = [];
  try {
    for (const form of PROXY_FORMS) {
      if (signal.aborted) break;
      say(`kube-proxy in its ${form} form`);
      const tried = await withProxies(scene, form, rightCidr(mode), () => tryForm(scene, form, { patience }));
      verdicts.push(...tried.verdicts);
      const { routingFault, unknownSource } = tried.refused;
      if (routingFault + unknownSource > 0)
        say(`the router refused ${routingFault} packets that left by a wrong ENI, ${unknownSource} of nobody’s source`);
    }
  } finally {
    trouble.push(...(await scene.lab.stop()));
  }
  return { verdicts, trouble };
}
