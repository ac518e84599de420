/** What people see of a node: no taller than their screen, no news that is none, and a completion that a shell takes. */
import { execFileSync } from 'node:child_process';
import { Argument, Command } from 'commander';
import t from 'tap';
import { outputOption } from '../../src/cli/command.ts';
import { completionScript } from '../../src/cli/completion-script.ts';
import { actorTree } from '../../src/cli/node-actors.ts';
import { eventLine, eventStates } from '../../src/cli/node-events.ts';
import { watchLines } from '../../src/cli/node-watch.ts';
import { whyLines } from '../../src/cli/node-why.ts';
import { program } from '../../src/cli/program.ts';
import { plain } from '../../src/lab/view/paint.ts';
import type { Inspected } from '../../src/ports/inspected.ts';
import type { EniReport, NodeReport, Why } from '../../src/ports/introspection.ts';

const eni = (slot: number): EniReport => ({
  ...{ actor: `eni:${slot}`, state: 'inUse.resting.quiet', sinceMs: 0, eniId: `eni-${slot}`, mac: null },
  ...{ vSwitchId: 'vsw-1', device: `eth${slot}`, routeTable: 1000, waiting: 0, lastFailure: null },
  addresses: [{ ipv4: `10.0.0.${slot}`, ipv6: null, state: 'bound', pod: `default/p${slot}`, untilMs: null }],
});
const report: NodeReport = {
  ...{ state: 'running.serving', missing: [], pool: null, leases: [], actors: [] },
  enis: Array.from({ length: 40 }, (_, slot) => eni(slot)),
  waiting: [{ requestId: 'r', pod: 'default/w', sinceMs: 4_000, reason: 'addresses are under way' }],
};

t.test(
  'watch: whatever there is, it is as tall as the screen lets it be, and the last events are at the end',
  async (t) => {
    const recent = Array.from({ length: 50 }, (_, index) => `event ${index}`);
    for (const rows of [12, 24, 60, 200]) {
      const view = { socketPath: '/s', recent, paint: plain, nowMs: 10_000, columns: 120, rows };
      const lines = watchLines(report, view);
      t.equal(lines.length, rows - 1, `${rows} rows`);
      t.equal(lines.at(-1), 'Ctrl-C or q ends it');
      if (rows >= 24) t.ok(lines.includes('event 49'), 'the newest event is shown');
      if (rows < 60) t.match(lines.join('\n'), /… \d+ more lines/, 'and what is left out is told');
    }
    const quiet = watchLines(
      { ...report, enis: [], waiting: [] },
      { socketPath: '/s', recent: [], paint: plain, nowMs: 0, columns: 80, rows: 24 },
    );
    t.match(quiet.join('\n'), /no ENI yet/);
  },
);

t.test('events: a line for what is told and for what changes, none for what stays', async (t) => {
  const states = eventStates();
  const seen = (event: Record<string, unknown>) => eventLine({ seq: 1, atMs: 0, ...event } as Inspected, states, plain);
  const actor = 'node/eniFactory/eni:0';
  t.equal(
    seen({ kind: 'actor', actor, chart: 'eni', state: 'creating.calling' }),
    '00:00:00.000  eniFactory/eni:0 is there, creating.calling',
  );
  t.equal(seen({ kind: 'state', actor, state: 'creating.calling', status: 'active' }), null);
  t.equal(
    seen({ kind: 'state', actor, state: 'inUse', status: 'active' }),
    '00:00:00.000  eniFactory/eni:0 is inUse (was creating.calling)',
  );
  t.equal(
    seen({ kind: 'event', actor, from: 'node/eniFactory', event: { type: 'grow', count: 2, atMs: 1 } }),
    '00:00:00.000  eniFactory → eniFactory/eni:0  grow  count=2',
  );
  const done = { type: 'xstate.done.actor.0.eni.attaching', output: 1 };
  t.match(
    seen({ kind: 'event', actor, from: `${actor}/0.eni.attaching`, event: done }),
    /eni:0 {2}done: eni\.attaching {2}output=1$/,
  );
  t.match(seen({ kind: 'event', actor: 'node', from: null, event: { type: 'stop' } }), /outside → node {2}stop$/);
  t.equal(seen({ kind: 'event', actor, from: actor, event: { type: 'xstate.init' } }), null);
  const lease = `node/leases/lease:${'a'.repeat(64)}/eth0`;
  t.match(seen({ kind: 'actor', actor: lease, chart: 'lease', state: 'bound' }), /leases\/lease:a{12}\/eth0 is there/);
});

t.test('actors: each below its parent, also where ids hold slashes', async (t) => {
  const paths = ['node/leases/lease:c1/eth0', 'node', 'node/leases', 'node/leases/lease:c1/eth0/inner'];
  const actors = paths.map((path) => ({ path, chart: 'c', state: 's', sinceMs: 0 }));
  const names = actorTree(actors, 0, plain)
    .slice(1)
    .map((line) => line.split(/ {2,}s/)[0]);
  t.strictSame(names, ['node', '  leases', '    lease:c1/eth0', '      inner']);
});

t.test('why: a pod that waits is told what refuses, for how long, and when the next try is', async (t) => {
  const why: Why = {
    ...{ pod: 'default/w', verdict: 'waiting', answer: 'default/w waits: every vSwitch is on hold', leases: [] },
    ...{ decisions: [], stages: [], underWay: ['eni:1 is being opened'], nextTryMs: 70_000, refusal: null },
    requests: [{ requestId: 'r', sinceMs: 4_000, untilMs: 100_000, reason: 'every vSwitch is on hold' }],
    considered: [
      { what: 'eni:0 (eni-0)', verdict: 'refuses', why: 'is full: 6 of 6', untilMs: null },
      { what: 'vsw-1', verdict: 'refuses', why: 'ran dry', untilMs: 70_000 },
    ],
  };
  const text = whyLines(why, 10_000, plain).join('\n');
  t.match(text, /^waiting {2}default\/w waits: every vSwitch is on hold$/m);
  t.match(text, /^asked 6 s ago, gives up in 90 s$/m);
  t.match(text, /^next try in 60 s$/m);
  t.match(text, /^vsw-1 +refuses +for 60 s +ran dry$/m);
  t.match(text, /UNDER WAY\n {2}eni:1 is being opened$/);
});

t.test('help: each command shows how it is used, and those that tell something tell it to programs too', async (t) => {
  /** Talk to a person all the time, start something, write files for others, or hand their answer through. */
  const forPeople = ['watch', 'inspect', 'simulate', 'completion', 'lab up', 'lab paths', 'lab exec', 'lab cloud'];
  const others = [...forPeople, 'lab apiserver', 'lab admin'];
  const all = (command: Command, path: string): (readonly [path: string, command: Command])[] => [
    [path, command] as const,
    ...command.commands.flatMap((one) => all(one, `${path} ${one.name()}`.trim())),
  ];
  const commands = all(
    program(() => {}),
    '',
  );
  t.ok(commands.length > 40, `${commands.length} commands`);
  for (const [path, command] of commands) {
    let help = '';
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    t.match(help, /^Examples?:\n {2}.*enactor /m, `enactor ${path}`);
    t.not(command.description(), '', path);
    const isLeaf = command.commands.length === 0;
    const forms = command.options.find(({ long }) => long === '--output')?.argChoices;
    if (isLeaf && !others.includes(path)) t.strictSame(forms, ['text', 'json', 'yaml'], `enactor ${path} -o`);
  }
});

t.test('completion: bash takes the script, and completes commands, options and what an option may be', async (t) => {
  const program = new Command('enactor');
  const lab = program.command('lab');
  lab.command('pod').command('add').option('--node <name>');
  lab.command('status');
  program.command('completion').addArgument(new Argument('<shell>').choices(['bash', 'fish']));
  program.command('status').addOption(outputOption());
  const complete = (...words: string[]): string[] => {
    const script = `${completionScript(program, 'bash')}
COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _enactor; echo "\${COMPREPLY[@]}"`;
    const env = { PATH: process.env.PATH };
    return execFileSync('bash', ['--norc', '--noprofile', '-c', script], { encoding: 'utf8', env }).trim().split(' ');
  };
  t.strictSame(complete('enactor', ''), ['lab', 'completion', 'status', '--help']);
  t.strictSame(complete('enactor', 'lab', 'pod', ''), ['add', '--help']);
  t.strictSame(complete('enactor', 'lab', 'pod', 'add', '--n'), ['--node']);
  t.strictSame(complete('enactor', 'status', '-o', ''), ['text', 'json', 'yaml']);
  t.strictSame(complete('enactor', 'completion', ''), ['bash', 'fish', '--help'], 'what an argument may be');
  t.strictSame(complete('enactor', 'lab', 'pod', 'add', '--node', ''), [''], 'a name is nothing that we know');
  t.match(
    completionScript(program, 'zsh'),
    /^#compdef enactor\n[\s\S]*_enactor \]\] && _bash_complete -o default -F _enactor\n$/,
  );
  t.match(
    completionScript(program, 'fish'),
    /complete -c enactor -n '__fish_seen_subcommand_from status; and not __fish_seen_subcommand_from lab' -l output .* -x -a 'text json yaml'/,
  );
});
