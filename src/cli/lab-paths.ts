/** `enactor lab paths`: tries every path through services in a lab of its own, and prints the table of the README. */
import { readFileSync, writeFileSync } from 'node:fs';
import { BoxError, insideBox } from '../lab/box/box-command.ts';
import { onStopRequest, runInBox } from '../lab/box/run-in-box.ts';
import { pathTable, withTable } from '../lab/checks/path-table.ts';
import { startScene } from '../lab/checks/service-scene.ts';
import { type PathVerdict, RIGHT_CIDR, tryForm, withProxies } from '../lab/checks/try-service-paths.ts';
import { PROXY_FORMS } from '../lab/services/kube-proxy.ts';
import { missingForServices } from '../lab/services/needs.ts';
import { CommandError, EXIT } from './exit-codes.ts';

/** Resolves with 0 when every path is as it should be. Throws CommandError. */
export async function labPaths(into: string | null): Promise<number> {
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
  const { verdicts, trouble } = await tryAll(say, stop.signal);
  if (stop.signal.aborted) return EXIT.interrupted;
  const table = pathTable(verdicts);
  if (into === null) process.stdout.write(`${table}\n`);
  else writeFileSync(into, withTable(readFileSync(into, 'utf8'), table));
  const bad = verdicts.filter(({ ok }) => !ok);
  for (const { form, family, path, why } of bad) say(`✘ ${form} IPv${family} ${path.words}: ${why}`);
  say(`${verdicts.length - bad.length} of ${verdicts.length} paths are as they should be`);
  for (const line of trouble) say(`trouble: ${line}`);
  return bad.length + trouble.length === 0 ? EXIT.ok : EXIT.failed;
}

async function tryAll(
  say: (line: string) => void,
  signal: AbortSignal,
): Promise<{ verdicts: readonly PathVerdict[]; trouble: readonly string[] }> {
  const scene = await startScene({ say, signal });
  const verdicts: PathVerdict[] = [];
  const trouble: string[] = [];
  try {
    for (const form of PROXY_FORMS) {
      if (signal.aborted) break;
      say(`kube-proxy in its ${form} form`);
      const tried = await withProxies(scene, form, RIGHT_CIDR, () => tryForm(scene, form));
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
