/** `enactor plan`: what a node needs that is to run so many pods. No node is needed, and no cloud. */
import { type Command, InvalidArgumentError } from 'commander';
import { type NodePlan, nodePlan, type PlanType, usableAddresses } from '../../core/node-plan.ts';
import { defaultSettings } from '../../core/settings.ts';
import type { Paint } from '../../lab/view/paint.ts';
import { INSTANCE_TYPES } from '../../vpc/instance-types.ts';
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
      const { churn: churnPerMinute, dual = false } = options;
      const { coolDownMs } = defaultSettings;
      const planOn = (type: PlanType) => nodePlan({ ...options, type, churnPerMinute, dual, coolDownMs });
      const plan = planOn(typeOf(options));
      const others = plan.fits ? [] : thatFit(planOn);
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

type Larger = { readonly instanceType: string; readonly plan: NodePlan };

/** Types on which the same pods fit, smallest first. What we have invented nobody can buy. */
function thatFit(planOn: (type: PlanType) => NodePlan): readonly Larger[] {
  return INSTANCE_TYPES.filter(({ source }) => source !== 'invented')
    .toSorted((a, b) => a.cpuCores - b.cpuCores)
    .map((type) => ({ instanceType: type.instanceType, plan: planOn(type) }))
    .filter(({ plan }) => plan.fits)
    .slice(0, OFFERED);
}

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;
const podsOf = (count: number): string => counted(count, 'pod', 'pods');

function planLines(plan: NodePlan, options: Options, others: readonly Larger[], paint: Paint): string[] {
  const narrow =
    options.dual && plan.ipv6Limits
      ? ['Fewer pods fit than with IPv4 alone: an ENI of this type has fewer IPv6 addresses.']
      : [];
  return [...(plan.fits ? sizeLines(plan, options, paint) : tooManyLines(plan, others, paint)), ...narrow];
}

/** What does fit, and where all of them would. */
function tooManyLines({ held, cooling, ...room }: NodePlan, others: readonly Larger[], paint: Paint): string[] {
  const { capacity, eniMax, perEni, podsMax } = room;
  const from = `${counted(eniMax, 'ENI', 'ENIs')} beside the primary one, ${perEni} on each`;
  const rest = cooling === 0 ? '' : ` and ${counted(cooling, 'address that rests', 'addresses that rest')}`;
  const ready = others.map(({ instanceType, plan }) => [
    instanceType,
    String(plan.podsMax),
    `${plan.eniMax} x ${plan.perEni}`,
  ]);
  return [
    paint('red', `${podsOf(held)}${rest} do not fit into ${counted(capacity, 'address', 'addresses')} (${from}).`),
    podsMax === 0
      ? 'No pod fits.'
      : `What fits: ${podsOf(podsMax)}${cooling === 0 ? '' : ' with so many coming and going'}.`,
    '',
    ...(ready.length === 0
      ? ['None of the types that are known here is large enough.']
      : ['Types that are known here and large enough:', ...table(['TYPE', 'PODS THAT FIT', 'ENIS'], ready, paint)]),
  ];
}

function sizeLines(plan: Extract<NodePlan, { fits: true }>, { nodes }: Options, paint: Paint): string[] {
  const { podsMax, eniMax, perEni, held, cooling, minPool, maxPool, addressesPerNode, addresses, prefix } = plan;
  const left = plan.capacity - held;
  const rows = [
    [
      'pods that fit',
      String(podsMax),
      `${eniMax} x ${perEni} addresses, on ENIs beside the primary one${cooling === 0 ? '' : ', without those that rest'}`,
    ],
    ['running', String(held), 'each with an address of its own'],
    ['resting', String(cooling), `given back within the last ${defaultSettings.coolDownMs / 1_000} s`],
    ['min_pool_size', String(minPool), 'what comes at once, or while one more ENI is opened'],
    [
      'max_pool_size',
      String(maxPool),
      maxPool < left ? 'so that pods that follow each other cost no call' : 'all that is left beside the pods',
    ],
    ['ENIs', String(plan.enis), 'for all of these; the node opens them as they are needed'],
    ['of the vSwitches', String(addressesPerNode), 'the most a node takes, its own address included'],
  ];
  const whole =
    prefix === null
      ? `${nodes} nodes take up to ${addresses} addresses: no vSwitch is so large (/16), several are needed`
      : `${nodes === 1 ? '1 node takes' : `${nodes} nodes take`} up to ${addresses} addresses: a /${prefix} has ${usableAddresses(prefix)}, of which others may take some`;
  return [...table(['', 'COUNT', ''], rows, paint), '', whole];
}
