/** `enactor eni sweep`: ENIs of a cluster whose nodes are gone. Shows them; with --yes deletes what two looks agree on. */
import { setTimeout as wait } from 'node:timers/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { ecsCloud } from '../../adapters/ecs/ecs-cloud.ts';
import { durationMs } from '../../core/duration.ts';
import { failureOf } from '../../core/errors.ts';
import { doubtOf, instancesNamed, orphansOfBoth, verdictsOn } from '../../core/orphan-enis.ts';
import type { Paint } from '../../lab/view/paint.ts';
import { ACCOUNT_HELP, type AccountOptions, accountOf, withAccount } from '../cloud-account.ts';
import { type Done, examples, type OutputForm, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { untilInterrupted } from '../interrupted.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';

const TIMEOUT_MS = 20_000;
const BETWEEN = '10m';

type Options = AccountOptions & {
  readonly cluster: string;
  readonly yes?: boolean;
  readonly allGone?: boolean;
  readonly between: number;
  readonly output: OutputForm;
};

type Swept = {
  readonly cluster: string;
  readonly region: string;
  readonly verdicts: readonly {
    eniId: string;
    vSwitchId: string;
    instanceId: string | null;
    orphan: boolean;
    why: string;
  }[];
  readonly deleted: readonly string[];
  /** The cloud refused, with its words. */
  readonly refused: readonly { readonly eniId: string; readonly why: string }[];
  /** Whether anything was to be deleted. */
  readonly dryRun: boolean;
};

export function addSweep(eni: Command, done: Done): void {
  // `eni` has --output too, and would take what is written for this one.
  withAccount(eni.enablePositionalOptions().command('sweep'))
    .description('ENIs of a cluster whose nodes are gone: shows them, and deletes them with --yes')
    .requiredOption('--cluster <id>', 'as cluster_id in the configuration: only ENIs with its tag are looked at')
    .option('--yes', 'delete what two looks agree on')
    .addOption(
      new Option('--between <duration>', 'from the first look to the second')
        .argParser(asDuration)
        .default(asDuration(BETWEEN), BETWEEN),
    )
    .option('--all-gone', 'no node of the cluster is left: believe it although no ENI is attached anywhere')
    .addOption(outputOption())
    .addHelpText(
      'after',
      `${ACCOUNT_HELP} It has to be allowed what deploy/ram-policy-sweep.json says.

An ENI goes if it is attached nowhere and its node’s instance does not exist, at both looks; and only if the cloud knows the instances
that other ENIs of the cluster are attached to, so that a key that may not see instances deletes nothing.
${examples(
  'enactor eni sweep --region cn-hangzhou --cluster prod',
  'enactor eni sweep --region cn-hangzhou --cluster prod --yes',
)}`,
    )
    .action(async (options: Options) => {
      let code: number = EXIT.ok;
      const interrupted = await untilInterrupted(async (signal) => {
        code = await sweep(options, signal);
      });
      done(interrupted === EXIT.ok ? code : interrupted);
    });
}

async function sweep(options: Options, signal: AbortSignal): Promise<number> {
  const { cluster, yes: forReal = false, allGone = false } = options;
  const account = await accountOf(options, false);
  const cloud = ecsCloud({ ...account, region: async () => account.regionId, timeoutMs: TIMEOUT_MS, rateLimits: {} });
  const say = (line: string) => process.stderr.write(`eni sweep: ${line}\n`);
  const look = async () => {
    const enis = await cloud.describeEnis({ tags: { creator: 'enactor', 'enactor/cluster': cluster } }, signal);
    const there = await cloud.instancesThere(instancesNamed(enis), signal);
    const doubt = enis.length === 0 ? null : doubtOf({ enis, there }, allGone);
    if (doubt !== null) throw new CommandError(EXIT.failed, `nothing is deleted: ${doubt}`);
    return verdictsOn({ enis, there });
  };

  let verdicts = await look();
  const deleted: string[] = [];
  const refused: { eniId: string; why: string }[] = [];
  const found = verdicts.filter(({ orphan }) => orphan);
  if (forReal && found.length > 0) {
    say(`${found.length} without a node; looked at again in ${Math.round(options.between / 1_000)} s`);
    await wait(options.between, undefined, { signal }).catch(() => {});
    if (signal.aborted) return EXIT.interrupted;
    const first = verdicts;
    verdicts = await look();
    for (const { eni } of orphansOfBoth(first, verdicts)) {
      try {
        await cloud.deleteEni(eni.eniId, signal);
        deleted.push(eni.eniId);
        say(`${eni.eniId} deleted`);
      } catch (error) {
        refused.push({ eniId: eni.eniId, why: failureOf(error).detail });
      }
    }
  }
  const swept: Swept = {
    ...{ cluster, region: account.regionId, dryRun: !forReal, deleted, refused },
    verdicts: verdicts.map(({ eni, ...rest }) => ({ eniId: eni.eniId, vSwitchId: eni.vSwitchId, ...rest })),
  };
  print(swept, options.output, (paint) => lines(swept, paint));
  return refused.length === 0 ? EXIT.ok : EXIT.failed;
}

function asDuration(text: string): number {
  const ms = durationMs(text);
  if (ms === null) throw new InvalidArgumentError('a duration, such as 10m.');
  return ms;
}

function lines({ verdicts, deleted, refused, dryRun, cluster, region }: Swept, paint: Paint): string[] {
  if (verdicts.length === 0) return [`no ENI in ${region} has the tag of cluster ${cluster}`];
  const word = ({ eniId, orphan }: Swept['verdicts'][number]) =>
    deleted.includes(eniId)
      ? paint('red', 'deleted')
      : orphan
        ? paint('yellow', dryRun ? 'would go' : 'stays')
        : 'kept';
  const rows = verdicts.map((one) => [one.eniId, word(one), one.vSwitchId, one.instanceId ?? '-', one.why]);
  const orphans = verdicts.filter(({ orphan }) => orphan).length;
  return [
    ...table(['ENI', '', 'VSWITCH', 'MADE BY', 'WHY'], rows, paint),
    '',
    dryRun && orphans > 0 ? `${orphans} would be deleted: say --yes` : `${deleted.length} deleted`,
    ...refused.map(({ eniId, why }) => paint('red', `${eniId}: ${why}`)),
  ];
}
