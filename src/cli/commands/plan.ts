/** `enactor plan`: what a node needs that is to run so many pods. No node is needed, and no cloud. */
import { type Command, InvalidArgumentError } from 'commander';
import { type NodePlan, nodePlan, type PlanType, usableAddresses } from '../../core/node-plan.ts';
import { defaultSettings } from '../../core/settings.ts';
import type { Paint } from '../../lab/view/paint.ts';
import { INSTANCE_TYPES, type InstanceType } from '../../vpc/instance-types.ts';
import { type AddCommand, countTo, examples, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';

const PER_MINUTE: Readonly<Record<string, number>> = { s: 60, min: 1, h: 1 / 60 };
const MOST = 100_000;
const OFFERED = 4;

type Options = {
  readonly type?: string;
  readonly enis?: number;
  readonly perEni?: number;
  readonly pods: number;
  readonly churn: number;
  readonly burst: number;
  readonly nodes: number;
  readonly dual?: boolean;
};

export const planCommand: AddCommand = (enactor, done) => {
  sized(enactor.command('plan'))
    .description('what a node needs that is to run so many pods: ENIs, pool settings, addresses of its vSwitches')
    .addOption(outputOption())
    .addHelpText(
      'after',
      examples(
        'enactor plan --type ecs.g7.xlarge --pods 30 --churn 20/min',
        'enactor plan --type ecs.g7.4xlarge --pods 110 --burst 30 --nodes 50 --dual',
        'enactor plan --enis 6 --per-eni 20 --pods 90',
      ),
    )
    .action(({ output, ...options }) => {
      const type = typeOf(options);
      const wanted = { ...options, type, churnPerMinute: options.churn, dual: options.dual === true };
      const plan = nodePlan({ ...wanted, coolDownMs: defaultSettings.coolDownMs });
      const others = plan.fits ? [] : thatFit(wanted, plan);
      print({ ...plan, otherTypes: others.map((one) => one.instanceType) }, output, (paint) =>
        planLines(plan, options, others, paint),
      );
      done(plan.fits ? EXIT.ok : EXIT.failed);
    });
};

const sized = (command: Command) =>
  command
    .option('--type <instance type>', 'such as ecs.g7.xlarge; of one that is not known here say --enis and --per-eni')
    .option('--enis <count>', 'ENIs the type allows, the primary one included (EniQuantity)', countTo(64))
    .option('--per-eni <count>', 'IPv4 addresses on one ENI (EniPrivateIpAddressQuantity)', countTo(100))
    .requiredOption('--pods <count>', 'pods that run on one node at a time', countTo(MOST))
    .option('--churn <count/time>', 'pods that come while as many go, such as 20/min', churnOf, 0)
    .option('--burst <count>', 'pods that come at one moment', countTo(MOST), 1)
    .option('--nodes <count>', 'nodes that share the vSwitches', countTo(MOST), 1)
    .option('--dual', 'an IPv6 address for each pod too');

function churnOf(text: string): number {
  const [, count, unit = ''] = /^(\d+(?:\.\d+)?)\/(s|min|h)$/.exec(text) ?? [];
  if (count === undefined) throw new InvalidArgumentError('a number and a time, such as 20/min (s, min, h).');
  return Number(count) * (PER_MINUTE[unit] ?? 1);
}

function typeOf({ type, enis, perEni }: Options): PlanType {
  if (enis !== undefined && perEni !== undefined) return { enis, ipv4PerEni: perEni, ipv6PerEni: perEni };
  const known = INSTANCE_TYPES.find(({ instanceType }) => instanceType === type);
  if (known !== undefined) return known;
  throw new CommandError(
    EXIT.usage,
    type === undefined
      ? 'say --type, or --enis and --per-eni'
      : `${type} is not among the ${INSTANCE_TYPES.length} types known here; say --enis and --per-eni, as DescribeInstanceTypes tells them`,
  );
}

/** Smallest first. */
function thatFit(wanted: Omit<Parameters<typeof nodePlan>[0], 'type' | 'coolDownMs'>, plan: NodePlan): InstanceType[] {
  const fits = (type: InstanceType): boolean =>
    type.source !== 'invented' &&
    nodePlan({ ...wanted, type, coolDownMs: defaultSettings.coolDownMs }).capacity >= plan.held + plan.cooling;
  return INSTANCE_TYPES.filter(fits)
    .toSorted((a, b) => a.cpuCores - b.cpuCores)
    .slice(0, OFFERED);
}

function planLines(plan: NodePlan, { nodes, dual }: Options, others: readonly InstanceType[], paint: Paint): string[] {
  const { capacity, eniMax, held, cooling, minPool, maxPool, addressesPerNode, addresses, prefix } = plan;
  const rows = [
    ['pods that fit', String(capacity), `${eniMax} ENIs beside the primary one, all of whose addresses are pods’`],
    ['running', String(held), 'each with an address of its own'],
    ['resting', String(cooling), `given back within the last ${defaultSettings.coolDownMs / 1_000} s`],
    ['min_pool_size', String(minPool), 'what comes at once, or while one more ENI is opened'],
    ['max_pool_size', String(maxPool), 'so that pods that follow each other cost no call'],
    ['ENIs', String(plan.enis), 'for all of these; the node opens them as they are needed'],
    ['of the vSwitches', String(addressesPerNode), 'the most a node takes, its own address included'],
  ];
  const whole =
    prefix === null
      ? `${nodes} nodes take up to ${addresses} addresses: no vSwitch is so large (/16), several are needed`
      : `${nodes === 1 ? '1 node takes' : `${nodes} nodes take`} up to ${addresses} addresses: a /${prefix} has ${usableAddresses(prefix)}, of which others may take some`;
  const verdict = plan.fits
    ? []
    : [
        paint(
          'red',
          `${held} pods${cooling > 0 ? ` and ${cooling} addresses that rest` : ''} do not fit into ${capacity} addresses.`,
        ),
        others.length > 0
          ? `Types that are known here and large enough: ${others.map((one) => one.instanceType).join(', ')}.`
          : 'None of the types that are known here is large enough.',
        '',
      ];
  return [
    ...verdict,
    ...table(['', 'COUNT', ''], rows, paint),
    '',
    whole,
    ...(dual && plan.ipv6Limits
      ? ['Fewer pods fit than with IPv4 alone: an ENI of this type has fewer IPv6 addresses.']
      : []),
  ];
}
