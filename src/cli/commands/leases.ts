/** `enactor leases`: which sandbox has which address. */
import type { Lease } from '../../core/lease.ts';
import { kindOf } from '../../core/own-eni.ts';
import { podKey, sandboxKey } from '../../core/sandbox.ts';
import { forHowLong } from '../../lab/view/words.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { askAll } from '../node-client.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';
import { debugSocketOf, withNode } from '../which-node.ts';

/** Of a container id as people read them. */
const SANDBOX_CHARS = 12;

export const leasesCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('leases'))
    .description('which pod’s sandbox has which address, on which ENI (shared, or its own), since when')
    .addOption(outputOption())
    .addHelpText('after', examples('enactor leases', 'enactor leases -o json | jq -r ".[].grant.address.ipv4"'))
    .action(async (options) => {
      const leases = await askAll<Lease>(await debugSocketOf(options), '/v1/leases');
      print(leases, options.output, (paint) => {
        const rows = leases.map(({ sandbox, grant: { address, eni }, boundAtMs }) => [
          podKey(sandbox.pod),
          [address.ipv4, address.ipv6].filter((ip) => ip !== null).join(' '),
          eni.eniId,
          kindOf(sandbox),
          eni.device.name,
          forHowLong(Date.now() - boundAtMs),
          sandboxKey({ ...sandbox, containerId: sandbox.containerId.slice(0, SANDBOX_CHARS) }),
        ]);
        return table(['POD', 'ADDRESS', 'ENI', 'KIND', 'DEVICE', 'SINCE', 'SANDBOX'], rows, paint);
      });
      done(EXIT.ok);
    });
};
