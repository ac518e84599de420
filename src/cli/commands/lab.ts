/** `enactor lab …`: a VPC in a box, and what one does to it from another terminal. */
import { Option } from 'commander';
import { DAEMON_MODES } from '../../core/daemon-mode.ts';
import { POD_MODES } from '../../lab/checks/pod-modes.ts';
import { PROXY_FORMS } from '../../lab/services/kube-proxy.ts';
import { type AddCommand, countTo, examples, outputOption } from '../command.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import {
  addPod,
  askAdmin,
  dryUp,
  execIn,
  listPods,
  probe,
  rebootNode,
  removePod,
  showLab,
  showLedger,
  showPath,
} from '../lab-control.ts';
import { labPaths } from '../lab-paths.ts';
import { labApiServer, labCloud } from '../lab-services.ts';
import { labUp } from '../lab-up.ts';
import { pidOption } from '../which-lab.ts';

export const labCommand: AddCommand = (enactor, done) => {
  const lab = enactor
    .command('lab')
    .enablePositionalOptions()
    .description('a VPC in a box on this machine, no account and no root needed')
    .addHelpText(
      'after',
      examples(
        'enactor lab up                   live in this terminal; the others act on it from another',
        'enactor lab pod add hello',
        'enactor lab path web-1 web-2',
        'enactor lab dry',
      ),
    );

  lab
    .command('up')
    .description('start the lab and show it; with --once check every path and end')
    .option('--once', 'build, try every path, take down; the last line counts', false)
    .option('--nodes <n>', 'machines with a daemon', countTo(200), 2)
    .option('--pods <n>', 'pods to start with (default: 6, with --once 10)', countTo(200))
    .addOption(new Option('--profile <name>', 'how slow the cloud is').choices(['fast', 'realistic']).default('fast'))
    .addOption(
      new Option('--mode <mode>', 'where addresses of pods come from').choices(DAEMON_MODES).default('ENIMultiIP'),
    )
    .option('--dual-stack', 'pods get an IPv4 and an IPv6 address', false)
    .addOption(
      new Option(
        '--services <form>',
        'kube-proxy on every node in this form, a service `echo` of all pods (NodePort 30007), and `outside`, `internet` and `cloud` beyond the VPC',
      ).choices(['iptables', 'nft']),
    )
    .addOption(
      new Option('--plant <fault>', 'make a fault on purpose, to see the check fail (with --once)').choices([
        'wrong-rule',
      ]),
    )
    .addHelpText(
      'after',
      `
Examples:
  enactor lab up --nodes 3 --pods 12
  enactor lab up --profile realistic       ENIs take seconds, as they do
  enactor lab up --once --plant wrong-rule ends with 1 and a count of routing faults`,
    )
    .action(async ({ once, nodes, pods, profile, plant, mode, dualStack, services }) => {
      if (plant !== undefined && !once) throw new CommandError(EXIT.usage, '--plant goes with --once');
      if (services !== undefined && once)
        throw new CommandError(EXIT.usage, '--services goes without --once: see enactor lab paths');
      done(
        await labUp({
          once,
          nodes,
          pods: pods ?? null,
          profile,
          plant: plant ?? null,
          mode,
          dualStack,
          services: services ?? null,
        }),
      );
    });

  const pod = lab
    .command('pod')
    .description('pods of the lab that runs')
    .addHelpText('after', examples('enactor lab pod add hello', 'enactor lab pod list', 'enactor lab pod rm hello'));
  pod
    .command('add')
    .description('start a pod and wait until it runs; says why while it does not')
    .argument('<name>')
    .option('--node <name>', 'where (default: where the fewest are)')
    .addOption(outputOption())
    .addOption(pidOption())
    .addHelpText('after', examples('enactor lab pod add hello', 'enactor lab pod add hello --node node-1 -o json'))
    .action(async (name: string, { node, output, pid }) => done(await addPod(name, node, output, pid)));
  pod
    .command('rm')
    .description('end a pod; its address rests, then is idle')
    .argument('<name>')
    .addOption(outputOption())
    .addOption(pidOption())
    .addHelpText('after', examples('enactor lab pod rm hello'))
    .action(async (name: string, { output, pid }) => done(await removePod(name, output, pid)));
  pod
    .command('list')
    .alias('ls')
    .description('all pods: where, with which address, and why one does not run')
    .addOption(outputOption())
    .addOption(pidOption())
    .addHelpText('after', examples('enactor lab pod list', 'enactor lab pod ls -o json | jq -r ".[].ip"'))
    .action(async ({ output, pid }) => done(await listPods(output, pid)));

  lab
    .command('reboot')
    .description('take a node down as a power cut does and boot it; its pods get new sandboxes')
    .argument('<node>')
    .addOption(outputOption())
    .addOption(pidOption())
    .addHelpText('after', examples('enactor lab reboot node-1'))
    .action(async (node: string, { output, pid }) => done(await rebootNode(node, output, pid)));
  lab
    .command('dry')
    .description('the cloud gives out no address of a vSwitch any more, or of any; pods that come then have to wait')
    .argument('[vswitch]')
    .option('--end', 'gives them out again', false)
    .addOption(outputOption())
    .addOption(pidOption())
    .addHelpText('after', examples('enactor lab dry', 'enactor lab dry vsw-lab-1', 'enactor lab dry --end'))
    .action(async (vSwitchId: string | undefined, { end, output, pid }) =>
      done(await dryUp(vSwitchId, !end, output, pid)),
    );
  lab
    .command('admin')
    .description('ask the cloud what really exists, plant faults, change what there is (src/lab/cloud/admin.md)')
    .argument('<method>', 'GET, POST or DELETE')
    .argument('<path>', 'such as truth, faults or change')
    .argument('[json]', 'what is sent')
    .addOption(pidOption())
    .addHelpText(
      'after',
      examples(
        'enactor lab admin GET truth',
        'enactor lab admin POST faults \'{"api":"AssignPrivateIpAddresses","times":5,"effect":"fail","code":"Throttling.User"}\'',
        'enactor lab admin DELETE faults',
      ),
    )
    .action(async (method: string, path: string, json: string | undefined, { pid }) =>
      done(await askAdmin(method, path, json, pid)),
    );
  lab
    .command('probe')
    .description('send from one place to another and tell how it was seen; places are pods, nodes and `elsewhere`')
    .argument('<from>')
    .argument('<to>')
    .addOption(outputOption())
    .addOption(pidOption())
    .addHelpText('after', examples('enactor lab probe web-1 web-2', 'enactor lab probe elsewhere web-1 -o json'))
    .action(async (from: string, to: string, { output, pid }) => done(await probe(from, to, output, pid)));

  lab
    .command('path')
    .description(
      'send from one place to another and tell every device on the way, there and back, with addresses as they were',
    )
    .argument('<from>', 'a pod, a node or another machine')
    .argument('<to>', 'the same, a service, an address, or ADDRESS:PORT')
    .addOption(new Option('--family <n>', 'of which IP, where the far end has both').choices(['4', '6']))
    .addOption(outputOption())
    .addOption(pidOption())
    .addHelpText('after', examples('enactor lab path web-1 web-2', 'enactor lab path outside 192.168.0.1:30007'))
    .action(async (from: string, to: string, { family, output, pid }) =>
      done(
        await showPath(from, to, { family: family === undefined ? undefined : family === '6' ? 6 : 4, output, pid }),
      ),
    );

  lab
    .command('paths')
    .description('try every path through services in a lab of its own, and print the table of src/lab/checks/paths.md')
    .option('--into <file>', 'put the tables into this document, between their marks')
    .addOption(
      new Option('--pods <mode...>', 'how pods are connected; ipvlan needs a kernel that has it')
        .choices(POD_MODES)
        .default(['veth', 'VPCIP', 'VPCENI']),
    )
    .addOption(
      new Option(
        '--proxy <form...>',
        'forms of kube-proxy; ipvs needs a kernel that has it; its table is printed, and put nowhere',
      )
        .choices([...PROXY_FORMS, 'ipvs'])
        .default(PROXY_FORMS),
    )
    .option('--patience <n>', 'wait so many times as long, on a slow machine', countTo(100), 1)
    .addHelpText('after', examples('enactor lab paths', 'enactor lab paths --pods veth --proxy nft'))
    .action(async ({ into, pods, proxy, patience }) =>
      done(await labPaths({ into: into ?? null, modes: pods, forms: proxy, patience })),
    );

  lab
    .command('exec')
    .description('run a program inside a pod, a node or a host of the lab')
    .argument('<place>')
    .argument('<command...>')
    .addOption(pidOption())
    .passThroughOptions()
    .addHelpText('after', '\nExample:\n  enactor lab exec web-1 -- ip -4 addr')
    .action(async (place: string, command: string[], { pid }) => done(await execIn(place, command, pid)));

  lab
    .command('status')
    .description('the lab that runs, once; or what the daemon of one of its nodes says')
    .argument('[node]')
    .addOption(outputOption())
    .addOption(pidOption())
    .addHelpText('after', examples('enactor lab status', 'enactor lab status node-1', 'enactor lab status -o json'))
    .action(async (node: string | undefined, { output, pid }) => done(await showLab(node, output, pid)));

  lab
    .command('ledger')
    .description('the last calls to the cloud of the lab that runs')
    .option('--last <n>', 'how many, at most 1000', countTo(1_000), 20)
    .addOption(outputOption())
    .addOption(pidOption())
    .addHelpText('after', examples('enactor lab ledger --last 5', "enactor lab ledger -o json | jq -r '.[].api'"))
    .action(async ({ last, output, pid }) => done(await showLedger(last, output, pid)));

  lab
    .command('cloud')
    .description('only the cloud: OpenAPI of ECS and VPC, metadata, and the admin interface')
    .requiredOption('--listen <addr>', 'host:port; port 0 takes a free one')
    .option(
      '--profile <name>',
      'how it behaves: fast, realistic, or a file that enactor verify-cloud wrote',
      'realistic',
    )
    .option('--topology <file>', 'what to build, as JSON (default: two nodes)')
    .option('--metadata <instance=addr>', 'serve an instance’s metadata here too; may be repeated', collect, [])
    .addHelpText(
      'after',
      '\nExample:\n  enactor lab cloud --listen 127.0.0.1:8080 --metadata i-lab-node-1=127.0.0.1:8081',
    )
    .action(async ({ listen, profile, topology, metadata }) =>
      done(await labCloud({ listen, profile, topology: topology ?? null, metadata })),
    );

  lab
    .command('apiserver')
    .description('only the Kubernetes API server: pods, nodes, config maps, events')
    .requiredOption('--listen <addr>', 'host:port; port 0 takes a free one')
    .option('--kubeconfig <file>', 'write the kubeconfig here (default: print it)')
    .addHelpText('after', examples('enactor lab apiserver --listen 127.0.0.1:6443 --kubeconfig lab.kubeconfig'))
    .action(async ({ listen, kubeconfig }) => done(await labApiServer(listen, kubeconfig ?? null)));
};

function collect(text: string, before: readonly string[]): readonly string[] {
  return [...before, text];
}
