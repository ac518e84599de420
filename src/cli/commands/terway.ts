/** What people know from terway-cli: list, show, mapping, execute, metadata, over the tracing service of the gRPC socket. */
import type { Command } from 'commander';
import { metadataService } from '../../adapters/metadata/metadata-service.ts';
import { failureOf } from '../../core/errors.ts';
import type { ResourceMappingReply } from '../../core/tracing.ts';
import type { RunningLab } from '../../lab/control/find-lab.ts';
import type { NodeStatus } from '../../lab/status/lab-status.ts';
import { type AddCommand, examples, metadataUrlOption, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { runInside } from '../lab-inside.ts';
import { deviceNames } from '../local-devices.ts';
import { labHint } from '../node-client.ts';
import { print } from '../print.ts';
import { keyTree, leaf, type Tree, treeLines } from '../terway-tree.ts';
import { asked } from '../which-lab.ts';
import { labNodeOf, type WhichLabNode, withLabNode } from '../which-node.ts';

const GRPC_SOCKET = '/var/run/eni/eni.socket';
/** The daemon answers from memory: one that does not within this time is frozen. */
const TIMEOUT_MS = 5_000;
const METADATA_MS = 30_000;

export const terwayCommands: AddCommand = (enactor, done) => {
  overSocket(enactor.command('list'))
    .description('types of resources that the daemon traces, or the names of one type')
    .argument('[type]')
    .addHelpText('after', examples('enactor list', 'enactor list factory', 'enactor list --lab node-1'))
    .action(async (type: string | undefined, { output, ...options }) => {
      const names = await traced(options, (client) => (type === undefined ? client.types() : client.names(type)));
      print(names, output, () => [...names.map((name) => `* ${name}`), '']);
      done(EXIT.ok);
    });

  overSocket(enactor.command('show'))
    .description('configuration and state of one resource, as a tree')
    .argument('<type>', 'as list shows it')
    .argument('[name]', 'default: the first of the type')
    .addHelpText('after', examples('enactor show network_service', 'enactor show factory eniip -o json'))
    .action(async (type: string, named: string | undefined, { output, ...options }) => {
      const told = await traced(options, async (client) => {
        const [first] = await client.names(type);
        const name = named ?? first;
        if (name === undefined) throw new CommandError(EXIT.failed, `no resource in the specified type ${type}`);
        const [config, trace] = [await client.config(type, name), await client.trace(type, name)];
        return { type, name, config, trace };
      });
      print(told, output, () => [...treeLines([keyTree([...told.config, ...told.trace])]), '']);
      done(EXIT.ok);
    });

  overSocket(enactor.command('mapping'))
    .description('which pod has which address on which ENI, and what the daemon’s database says')
    .addHelpText('after', examples('enactor mapping', 'enactor mapping --lab node-1'))
    .action(async ({ output, ...options }) => {
      const reply = await traced(options, (client) => client.mapping());
      print(reply, output, () => mappingLines(reply));
      done(EXIT.ok);
    });

  overSocket(enactor.command('execute'))
    .description('a command of one resource: mapping, resdb, audit')
    .argument('<type>')
    .argument('<resource>')
    .argument('<command>')
    .argument('[args...]')
    .addHelpText(
      'after',
      examples('enactor execute network_service default resdb', 'enactor execute factory eniip audit'),
    )
    .action(async (type: string, resource: string, command: string, args: string[], { output, ...options }) => {
      const messages: string[] = [];
      await traced(options, async (client) => {
        for await (const message of client.execute(type, resource, command, args)) {
          if (output === 'text') process.stdout.write(message);
          else messages.push(message);
        }
      });
      if (output !== 'text') print(messages, output, () => []);
      done(EXIT.ok);
    });

  withLabNode(enactor.command('metadata'), 'metadataUrl')
    .description(
      'the ENIs of this instance as its metadata service tells them, beside this host’s devices; needs no daemon',
    )
    .addOption(metadataUrlOption())
    .addOption(outputOption())
    .addHelpText('after', examples('enactor metadata', 'enactor metadata --lab node-1', 'enactor metadata -o yaml'))
    .action(async ({ metadataUrl, output, ...options }) => {
      const inLab = await labNodeOf(options);
      if (inLab !== null) return done(await askInside(inLab, ['metadata', '--output', output]));
      const metadata = metadataService({ baseUrl: metadataUrl });
      const signal = AbortSignal.timeout(METADATA_MS);
      const [{ primaryMac }, all] = await Promise.all([metadata.identity(signal), metadata.enis(signal)]).catch(
        (error) => {
          throw new CommandError(EXIT.cannot, failureOf(error).detail);
        },
      );
      const devices = deviceNames();
      const enis = all
        .map((eni) => ({ ...eni, primary: eni.mac === primaryMac, interface: devices.get(eni.mac) ?? null }))
        .sort((a, b) => Number(b.primary) - Number(a.primary));
      print(enis, output, () => [...treeLines(metadataTree(enis)), '']);
      done(EXIT.ok);
    });
};

type WhichDaemon = WhichLabNode & { readonly grpcSocket: string };

function overSocket(command: Command): Command {
  const socket = command.option('--grpc-socket <path>', 'where the daemon answers', GRPC_SOCKET);
  return withLabNode(socket, 'grpcSocket').addOption(outputOption());
}

/** A node of a lab sees its metadata service and its devices alone: this program is run there. */
async function askInside(
  { lab, node }: { lab: RunningLab; node: NodeStatus },
  args: readonly string[],
): Promise<number> {
  const { netns } = await asked(lab, (client) => client.place(node.name));
  return runInside(lab, netns, [process.execPath, process.argv[1] ?? '', ...args]);
}

type Client = import('../../adapters/grpc/tracing-client.ts').TracingClient;

/** Rejects with CommandError: 3 when no daemon answers, 1 with its own words. */
async function traced<T>(which: WhichDaemon, work: (client: Client) => Promise<T>): Promise<T> {
  const inLab = await labNodeOf(which);
  const socketPath = inLab === null ? which.grpcSocket : inLab.node.grpcSocket;
  const { TracingClient } = await import('../../adapters/grpc/tracing-client.ts'); // gRPC takes a while to load
  const client = new TracingClient(socketPath, TIMEOUT_MS);
  try {
    return await work(client);
  } catch (error) {
    if (error instanceof CommandError) throw error;
    const { code, details = String(error) } = error as { code?: number; details?: string };
    const UNAVAILABLE = 14;
    const DEADLINE_EXCEEDED = 4;
    if (code === UNAVAILABLE || code === DEADLINE_EXCEEDED)
      throw new CommandError(
        EXIT.cannot,
        `no daemon answers at ${socketPath}: ${plainly(details)}${labHint(socketPath === GRPC_SOCKET)}`,
      );
    throw new CommandError(EXIT.failed, details);
  } finally {
    client.close();
  }
}

/** gRPC wraps what the socket said: `No connection established. Last error: Error: connect ENOENT …. Resolution note: `. */
function plainly(details: string): string {
  const [, inner] = /Last error: (?:Error: )?(.*?)\.? Resolution note/.exec(details) ?? [];
  return inner ?? details;
}

function mappingLines({ info = [], resource_db = [] }: ResourceMappingReply): string[] {
  const enis = info.map(
    ({ NetworkInterfaceID = '', MAC = '', Status = '', Type = '', AllocInhibitExpireAt = '', Info = [] }): Tree => ({
      text: `ENI: ${NetworkInterfaceID}`,
      children: [
        ...[`MAC: ${MAC}`, `Status: ${Status}`, `Type: ${Type}`, `InhibitExpireAt: ${AllocInhibitExpireAt}`].map(leaf),
        { text: 'IPs', children: Info.map(leaf) },
      ],
    }),
  );
  const records = resource_db.map(({ pod_namespace = '', pod_name = '', eni_id = '', ipv4 = '', ipv6 = '' }) =>
    leaf(`${pod_namespace}/${pod_name} -> ${eni_id} ${[ipv4, ipv6].filter((ip) => ip !== '').join(',')}`),
  );
  const database = { text: `Resource DB (${records.length} entries)`, children: records };
  return [...treeLines(enis), '', ...(records.length === 0 ? [] : [...treeLines([database]), ''])];
}

type LocalEni = Awaited<ReturnType<ReturnType<typeof metadataService>['enis']>>[number] & {
  readonly primary: boolean;
  readonly interface: string | null;
};

function metadataTree(enis: readonly LocalEni[]): Tree[] {
  const vSwitches = [...new Set(enis.map(({ vSwitchId }) => vSwitchId))];
  return vSwitches.map((id) => ({
    text: `vswitch: ${id}`,
    children: enis.filter(({ vSwitchId }) => vSwitchId === id).map(eniTree),
  }));
}

function eniTree({ mac, primary, interface: device, ...eni }: LocalEni): Tree {
  const listed = (text: string, ips: readonly string[]): Tree[] =>
    ips.length === 0 ? [] : [{ text, children: [...ips].sort().map(leaf) }];
  return {
    text: `eni: ${mac}`,
    children: [
      leaf(`primary: ${primary}`),
      leaf(`interface: ${device ?? '!!!NOT FOUND'}`),
      leaf(`primary_ipv4: ${eni.primaryIp}`),
      ...listed(
        'secondary_ipv4s',
        eni.ipv4.filter((ip) => ip !== eni.primaryIp),
      ),
      ...listed('ipv6s', eni.ipv6),
    ],
  };
}
