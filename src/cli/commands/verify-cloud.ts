/** `enactor verify-cloud`: whether a cloud behaves as ours is simulated. With a real key, one ENI, a bounded cost and a clean end. */
import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type { Paint } from '../../lab/view/paint.ts';
import type { Plan } from '../../verify/bench.ts';
import { cleanUp } from '../../verify/clean-up.ts';
import type { Finding } from '../../verify/finding.ts';
import { profileOf } from '../../verify/profile.ts';
import { rawCloud } from '../../verify/raw-cloud.ts';
import { rawMetadata } from '../../verify/raw-metadata.ts';
import { RUN_TAG, type Verification, verifyCloud } from '../../verify/verify.ts';
import { ACCOUNT_HELP, type AccountOptions, accountOf, withAccount } from '../cloud-account.ts';
import { type AddCommand, countTo, examples, type OutputForm, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { untilInterrupted } from '../interrupted.ts';
import { deviceNames } from '../local-devices.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';

const CALLS_MAX = 1_500;
const TIMEOUT_MS = 20_000;
const PATIENCE_MS = 60_000;
const POLL_MS = 250;
const CLEAN_UP_MS = 180_000;

type Options = AccountOptions & {
  readonly vswitch?: string;
  readonly securityGroup?: string;
  readonly instance?: string;
  readonly scarceVswitch?: string;
  readonly writeProfile?: string;
  readonly clean?: string | true;
  readonly speed: number;
  readonly output: OutputForm;
};

export const verifyCloudCommand: AddCommand = (enactor, done) => {
  optionsOf(enactor.command('verify-cloud'))
    .description(
      'tries on a real cloud what ours is simulated by: one tagged ENI, a bounded number of calls, a clean end',
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `${ACCOUNT_HELP} What it has to be allowed is in deploy/ram-policy.json.

An ENI costs nothing; at most ${CALLS_MAX} calls are made, most of them Describe. With --instance the ENI is attached to it for a
minute: take one on which no network plugin runs that would use it. Whatever happens, ENIs with the run's tag are deleted in
the end; --clean does so later, after a crash.${examples(
        'enactor verify-cloud --region cn-hangzhou --vswitch vsw-bp1abc --security-group sg-bp1abc',
        'enactor verify-cloud --vswitch vsw-bp1abc --security-group sg-bp1abc --instance i-bp1abc --write-profile cloud.json',
        'enactor simulate --profile cloud.json --seeds 100',
        'enactor verify-cloud --region cn-hangzhou --clean',
      )}`,
    )
    .action(async (options: Options) => {
      const code = { exit: EXIT.ok as number };
      const interrupted = await untilInterrupted(async (signal) => {
        code.exit = await (options.clean === undefined ? verify(options, signal) : clean(options, options.clean));
      });
      done(interrupted === EXIT.ok ? code.exit : interrupted);
    });
};

const optionsOf = (command: Command) =>
  withAccount(command)
    .option('--vswitch <id>', 'where the ENI is made; in the zone of --instance')
    .option('--security-group <id>', 'its security group')
    .option('--instance <id>', 'attach the ENI to it and detach it again (default: what needs that stays unknown)')
    .option('--scarce-vswitch <id>', 'a vSwitch with 2 to 40 addresses left: what an Assign for more than that gives')
    .option('--write-profile <file>', 'what was measured, for enactor simulate and enactor lab cloud')
    .option('--clean [run]', 'only delete what runs before left: those of one run, or of all of them')
    .addOption(
      new Option('--speed <factor>', 'a lab that runs so much faster than life').argParser(countTo(1_000)).default(1),
    );

async function verify(options: Options, signal: AbortSignal): Promise<number> {
  const {
    vswitch: vSwitchId,
    securityGroup: securityGroupId,
    instance: instanceId = null,
    writeProfile,
    speed,
  } = options;
  if (vSwitchId === undefined || securityGroupId === undefined)
    throw new CommandError(EXIT.usage, 'say --vswitch and --security-group');
  const where = await accountOf(options, instanceId !== null);
  const run = randomUUID().slice(0, 8);
  const say = (line: string) => process.stderr.write(`${line}\n`);
  say(
    `verify-cloud: run ${run} in ${where.regionId}; should it be cut off: enactor verify-cloud --region ${where.regionId} --clean ${run}`,
  );
  const plan: Plan = {
    ...{ vSwitchId, securityGroupId, instanceId, scarceVSwitchId: options.scarceVswitch ?? null },
    ...{ tags: { [RUN_TAG]: run }, pollMs: Math.max(20, POLL_MS / speed), speed, patienceMs: PATIENCE_MS },
  };
  const local = where.instanceId !== null && where.instanceId === instanceId;
  const result = await verifyCloud({
    plan,
    raw: rawCloud({ ...where, timeoutMs: TIMEOUT_MS, callsMax: CALLS_MAX }, signal),
    // Not ended by Ctrl-C: what was made has to go.
    cleaner: rawCloud(
      { ...where, timeoutMs: TIMEOUT_MS, callsMax: Number.POSITIVE_INFINITY },
      new AbortController().signal,
    ),
    metadata: local ? await rawMetadata(trimmed(options.metadataUrl), signal) : null,
    hasDevice: local ? (mac) => deviceNames().has(mac) : null,
    found: (finding) =>
      options.output === 'text' && say(`  ${finding.verdict.padEnd(8)} ${finding.name}: ${finding.seen}`),
    doing: (what) => say(`verify-cloud: ${what}`),
    signal,
  });
  if (writeProfile !== undefined) {
    const measured = { run, region: where.regionId, at: new Date().toISOString(), instance: instanceId ?? 'none' };
    writeFileSync(writeProfile, `${JSON.stringify(profileOf(result.findings, measured), null, 2)}\n`);
    say(`verify-cloud: ${writeProfile} written`);
  }
  print({ run, region: where.regionId, ...result }, options.output, (paint) => told(result, paint));
  return result.failure === null && result.cleanUp.left.length === 0 ? EXIT.ok : EXIT.failed;
}

async function clean(options: Options, run: string | true): Promise<number> {
  const account = await accountOf(options, false);
  const raw = rawCloud(
    { ...account, timeoutMs: TIMEOUT_MS, callsMax: Number.POSITIVE_INFINITY },
    new AbortController().signal,
  );
  // A tag without a value asks for any.
  const taken = await cleanUp(raw, { [RUN_TAG]: run === true ? '' : run }, { pauseMs: 1_000, limitMs: CLEAN_UP_MS });
  print(taken, options.output, (paint) => cleanUpLines(taken, paint));
  return taken.left.length === 0 ? EXIT.ok : EXIT.failed;
}

const trimmed = (url: string): string => url.replace(/\/+$/, '');

function told(result: Verification, paint: Paint): string[] {
  const hues = { agrees: 'green', differs: 'red', unknown: 'yellow' } as const;
  const row = ({ verdict, name, assumed, seen }: Finding) => [paint(hues[verdict], verdict), name, seen, assumed];
  const count = (verdict: Finding['verdict']) => result.findings.filter((one) => one.verdict === verdict).length;
  return [
    ...table(['', 'WHAT', 'SEEN', 'ASSUMED'], result.findings.map(row), paint),
    '',
    `${count('agrees')} agree, ${count('differs')} differ, ${count('unknown')} unknown; ${result.calls} calls`,
    ...(result.failure === null ? [] : [paint('red', `ended before its end: ${result.failure}`)]),
    ...cleanUpLines(result.cleanUp, paint),
  ];
}

function cleanUpLines({ removed, left }: Verification['cleanUp'], paint: Paint): string[] {
  const some = removed.length === 0 ? 'nothing had to be taken away' : `taken away: ${removed.join(', ')}`;
  return [some, ...left.map(({ eniId, why }) => paint('red', `STILL THERE: ${eniId}: ${why}`))];
}
