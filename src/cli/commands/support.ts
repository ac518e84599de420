/** `enactor support`: a bundle for somebody who was not there, and `enactor replay`: what he does with it. */
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { whyNoReplay } from '../../core/support-bundle.ts';
import { forHowLong } from '../../lab/view/words.ts';
import { readBundle } from '../bundle-file.ts';
import { type AddCommand, examples, type OutputForm, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { reportLines } from '../node-status.ts';
import { whyLines } from '../node-why.ts';
import { print } from '../print.ts';
import { differences, gathered } from '../support.ts';
import { debugSocketOf, withNode } from '../which-node.ts';

const STANDARD_OUTPUT = '-';

export const supportCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('support'))
    .description(
      'gather what somebody needs who was not there: state, configuration, log, and all that entered the actors',
    )
    .addOption(outputOption())
    .option(
      '--out <file>',
      'where to write it; - is standard output (default: enactor-support-<node>-<time>.json.gz here)',
    )
    .addHelpText(
      'after',
      `${examples('enactor support', 'enactor support --out - > node-7.json.gz', 'enactor replay node-7.json.gz')}

Names of pods, ids of ENIs and addresses are in it; credentials are not.`,
    )
    .action(async ({ out, output, ...options }) => {
      const isPiped = out === STANDARD_OUTPUT;
      if (isPiped && process.stdout.isTTY)
        throw new CommandError(EXIT.usage, '--out -: standard output is a terminal, and a bundle is no text');
      const bundle = await gathered(await debugSocketOf(options), Date.now());
      const at = new Date(bundle.takenAtMs).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
      const bytes = gzipSync(JSON.stringify(bundle));
      const path = out ?? `enactor-support-${bundle.life.settings.nodeName}-${at}.json.gz`;
      const without = whyNoReplay(bundle);
      if (isPiped) process.stdout.write(bytes);
      else {
        keep(path, bytes, out === undefined);
        print({ path, inputs: bundle.inputs.length, whyNoReplay: without }, output, () => [path]);
      }
      process.stderr.write(
        without === null
          ? `${bundle.inputs.length} inputs: all of this life; enactor replay ${isPiped ? 'FILE' : path} runs it again\n`
          : `it cannot be replayed: ${without}\n`,
      );
      done(EXIT.ok);
    });

  enactor
    .command('replay')
    .description('run the life in a support bundle again, and compare where it ends with what the node told')
    .argument('<file>')
    .addOption(outputOption())
    .option('--until <seq>', 'only up to this input: the node as it was then')
    .addHelpText(
      'after',
      `${examples('enactor replay node-7.json.gz', 'enactor replay node-7.json.gz --until 1796008204557030')}

Exit codes: 0 the replay came to the very same, 1 it came to something else, 3 it cannot be replayed.`,
    )
    .action(async (file: string, { until, output }) => done(await replayFile(file, until, output)));
};

/** `fresh`: nothing may be there. Throws CommandError, which tells the way for a container, whose root cannot be written. */
function keep(path: string, bytes: Uint8Array, fresh: boolean): void {
  try {
    writeFileSync(path, bytes, { mode: 0o600, flag: fresh ? 'wx' : 'w' });
  } catch (error) {
    const instead = `take it by \`enactor support --out ${STANDARD_OUTPUT} > FILE\`, or name a folder that can be written`;
    throw new CommandError(EXIT.failed, `${(error as Error).message}: ${instead}`);
  }
}

async function replayFile(file: string, until: string | undefined, output: OutputForm): Promise<number> {
  const bundle = readBundle(file);
  const without = whyNoReplay(bundle);
  if (without !== null) throw new CommandError(EXIT.cannot, `${file} cannot be replayed: ${without}`);
  if (until !== undefined) {
    const seq = Number(until);
    const inputs = bundle.inputs.filter((input) => input.seq <= seq);
    const last = inputs.at(-1);
    if (!Number.isSafeInteger(seq) || last === undefined)
      throw new CommandError(EXIT.usage, `--until: the inputs are ${bundle.inputs[0]?.seq} to ${bundle.report.atSeq}`);
    const { replayed } = await import('../../../actors/replay.ts'); // as in support.ts
    const { report, root } = replayed(inputs, bundle.life.settings);
    print({ seq: last.seq, atMs: last.atMs, report: report() }, output, (paint) => [
      `after input ${last.seq}, ${new Date(last.atMs).toISOString()}:`,
      ...reportLines(report(), last.atMs, paint),
    ]);
    root.stop();
    return EXIT.ok;
  }
  const wrong = await differences(bundle);
  const { takenAtMs, report, whys, inputs } = bundle;
  const life = forHowLong(takenAtMs - bundle.life.startMs);
  print({ inputs: inputs.length, report, whys, differences: wrong }, output, (paint) => [
    ...reportLines(report, takenAtMs, paint),
    '',
    ...whys.flatMap((why) => [...whyLines(why, takenAtMs, paint), '']),
    ...(wrong.length === 0
      ? [`replayed: ${inputs.length} inputs of ${life} lead to the very same, failures included`]
      : wrong.flatMap(({ what, told, replayed }) => [
          `${what} differs`,
          `  the node told  ${JSON.stringify(told)}`,
          `  the replay has ${JSON.stringify(replayed)}`,
        ])),
  ]);
  return wrong.length === 0 ? EXIT.ok : EXIT.failed;
}
