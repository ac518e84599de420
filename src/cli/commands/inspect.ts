/** `enactor inspect`: the page that shows the actors think. */
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InvalidArgumentError } from 'commander';
import { bundleSource } from '../../inspect/bundle-source.ts';
import { chartsSource } from '../../inspect/charts-source.ts';
import { NodeSource } from '../../inspect/node-source.ts';
import { startPageServer } from '../../inspect/page-server.ts';
import type { Source } from '../../inspect/source.ts';
import { readBundle } from '../bundle-file.ts';
import { type AddCommand, countTo, examples } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { untilInterrupted } from '../interrupted.ts';
import { askNode, fromDaemon } from '../node-client.ts';
import { debugSocketOf, type WhichNode, withNode } from '../which-node.ts';

const PORT_MAX = 65_535;
const STEPS_MAX = 20_000;
const DEFAULT_STEPS = 400;

type Options = WhichNode & {
  readonly port: number;
  readonly bundle?: string;
  readonly simulation?: number;
  readonly steps: number;
  readonly charts: boolean;
  readonly stately: boolean;
};

export const inspectCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('inspect'))
    .description(
      'a page that shows a node live: its actors and their charts, its addresses, what is said; and its past',
    )
    .option('--bundle <file>', 'what enactor support has written, instead of a node')
    .option('--simulation <seed>', 'a simulated run (npm run simulate), instead of a node', seedOf)
    .option('--steps <count>', 'how long the simulated run is', countTo(STEPS_MAX), DEFAULT_STEPS)
    .option('--charts', 'only the charts, without a node', false)
    .option('--stately', 'no page of ours, but the relay that @statelyai/inspect speaks with', false)
    .option('--port <port>', 'of 127.0.0.1 (default: any free one)', countTo(PORT_MAX), 0)
    .addHelpText(
      'after',
      `${examples(
        'enactor inspect',
        'enactor inspect --lab node-1',
        'enactor inspect --bundle node-7.json.gz',
        'enactor inspect --simulation 7',
        'enactor inspect --stately --port 8080',
        'ssh -L 8123:127.0.0.1:8123 node-7 enactor inspect --port 8123',
      )}

The page is served to 127.0.0.1 alone, and loads nothing from elsewhere. Each link works once, in one tab; Ctrl-C ends it.
With --stately the link shows the inspector of stately.ai, which your browser loads from there; receivers need no internet.`,
    )
    .action(async (options: Options) => {
      if (options.stately) return done(await relayed(options));
      const source = await sourceOf(options);
      const code = await untilInterrupted(async (signal) => {
        const server = await startPageServer({
          source,
          assetsDir: fileURLToPath(new URL('.', import.meta.url)),
          port: options.port,
          onLink: linkTeller(),
        }).catch((error: Error) => {
          throw new CommandError(EXIT.failed, error.message);
        });
        await new Promise((ended) => signal.addEventListener('abort', ended, { once: true }));
        server.close();
      });
      done(code);
    });
};

/** Until it is interrupted; resolves with the exit code. */
async function relayed({ port, bundle, simulation, charts, ...which }: Options): Promise<number> {
  if (bundle !== undefined || simulation !== undefined || charts)
    throw new CommandError(EXIT.usage, '--stately shows a node, not --bundle, --simulation or --charts');
  const socketPath = await debugSocketOf(which);
  const { startStatelyRelay } = await import('../../inspect/stately-relay.ts'); // the page does without
  return await untilInterrupted(async (signal) => {
    const onEnd = (why: string): void => void process.stderr.write(`enactor: ${why}\n`);
    const start = () =>
      startStatelyRelay({ socketPath, port, onEnd }).catch((error: NodeJS.ErrnoException) => {
        if (error.syscall !== 'listen') throw error;
        throw new CommandError(EXIT.failed, error.message);
      });
    const relay = await fromDaemon(socketPath, start);
    process.stdout.write(`${relay.pageUrl}\nfor createWebSocketReceiver({ server }): ${relay.socketUrl}\n`);
    await new Promise((ended) => signal.addEventListener('abort', ended, { once: true }));
    relay.close();
  });
}

function seedOf(text: string): number {
  const seed = Number(text);
  if (Number.isSafeInteger(seed) && seed >= 0) return seed;
  throw new InvalidArgumentError('a whole number.');
}

/** The first link by itself on a line, for those who cut it out; what follows is for a second tab. */
function linkTeller(): (link: string) => void {
  let first = true;
  return (link) => {
    process.stdout.write(first ? `${link}\n` : `in another tab: ${link}\n`);
    first = false;
  };
}

async function sourceOf({ bundle, simulation, steps, charts, ...which }: Options): Promise<Source> {
  if ([bundle, simulation, charts || undefined].filter((one) => one !== undefined).length > 1)
    throw new CommandError(EXIT.usage, 'one of --bundle, --simulation and --charts');
  if (bundle !== undefined) return bundleIn(bundle);
  if (charts) return chartsSource();
  if (simulation !== undefined) {
    process.stderr.write(`seed ${simulation}, ${steps} steps …\n`);
    const { simulationSource } = await import('../../inspect/simulation-source.ts'); // the others do without the simulation
    return await simulationSource(simulation, steps);
  }
  const socket = await debugSocketOf(which);
  const { settings } = await askNode<{ settings: { nodeName: string } }>(socket, '/v1/life');
  return new NodeSource(socket, settings.nodeName);
}

/** Throws CommandError. */
function bundleIn(file: string): Source {
  try {
    return bundleSource(readBundle(file), basename(file));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(EXIT.failed, `${file}: ${(error as Error).message}`);
  }
}
