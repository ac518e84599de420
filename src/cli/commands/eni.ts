/** `enactor eni`: the ENIs of a node, or one of them with its addresses. */
import { eniBlock } from '../../lab/view/node-lines.ts';
import type { Paint } from '../../lab/view/paint.ts';
import { eniSince, forHowLong } from '../../lab/view/words.ts';
import type { EniReport } from '../../ports/introspection.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { askAll, askNode } from '../node-client.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';
import { debugSocketOf, withNode } from '../which-node.ts';
import { addSweep } from './eni-sweep.ts';

export const eniCommand: AddCommand = (enactor, done) => {
  const eni = enactor.command('eni');
  addSweep(eni, done);
  withNode(eni)
    .description('the ENIs of a node: state, device, and how many of their addresses are in which state')
    .argument('[name]', 'one of them in full, by its id, its device or its actor, such as eni:0')
    .addOption(outputOption())
    .addHelpText(
      'after',
      examples(
        'enactor eni',
        'enactor eni eni:0',
        'enactor eni eni-bp1abc -o yaml',
        'enactor eni sweep --region cn-hangzhou --cluster prod',
      ),
    )
    .action(async (name: string | undefined, options) => {
      const socket = await debugSocketOf(options);
      if (name === undefined) {
        const enis = await askAll<EniReport>(socket, '/v1/enis');
        print(enis, options.output, (paint) => eniTable(enis, Date.now(), paint));
      } else {
        const eni = await askNode<EniReport>(socket, `/v1/enis/${encodeURIComponent(name)}`);
        print(eni, options.output, (paint) => eniLines(eni, Date.now(), paint));
      }
      done(EXIT.ok);
    });
};

function eniTable(enis: readonly EniReport[], nowMs: number, paint: Paint): string[] {
  const rows = enis.map((eni) => [
    eni.actor,
    eni.eniId ?? '-',
    eni.device ?? '-',
    eniSince(eni, nowMs).is,
    eniSince(eni, nowMs).since,
    counted(eni) || '-',
    eni.waiting === 0 ? '-' : String(eni.waiting),
    eni.lastFailure ?? '',
  ]);
  return table(['ACTOR', 'ENI', 'DEVICE', 'STATE', 'SINCE', 'ADDRESSES', 'WAIT', 'LAST FAILURE'], rows, paint);
}

function counted({ addresses }: EniReport): string {
  const counts = new Map<string, number>();
  for (const { state } of addresses) counts.set(state, (counts.get(state) ?? 0) + 1);
  return [...counts].map(([state, count]) => `${count} ${state}`).join(', ');
}

function eniLines(eni: EniReport, nowMs: number, paint: Paint): string[] {
  const rows = eni.addresses.map(({ ipv4, ipv6, state, pod, untilMs }) => [
    [ipv4, ipv6].filter((ip) => ip !== null).join(' '),
    state,
    pod ?? '-',
    untilMs === null ? '' : `free in ${forHowLong(untilMs - nowMs)}`,
  ]);
  return [
    ...eniBlock(eni, nowMs, process.stdout.columns || 120, paint),
    `  mac ${eni.mac ?? '-'}, vSwitch ${eni.vSwitchId ?? '-'}, route table ${eni.routeTable ?? '-'}, ${eni.waiting} waiting`,
    '',
    ...table(['ADDRESS', 'IS', 'POD', ''], rows, paint),
  ];
}
