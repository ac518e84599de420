/** `enactor doctor`: what is wrong on a node, and what to do about it. */
import type { ConfigReport } from '../../core/config-report.ts';
import type { NodeReport } from '../../ports/introspection.ts';
import { type AddCommand, examples, outputOption } from '../command.ts';
import type { CheckResult } from '../doctor/check.ts';
import { examined } from '../doctor/checks.ts';
import { hostResults, thisHost } from '../doctor/host.ts';
import { proxyResults, proxyRules } from '../doctor/kube-proxy.ts';
import { directPods, policyResults } from '../doctor/network-policy.ts';
import { socketOutcomes } from '../doctor/sockets.ts';
import { CommandError, EXIT } from '../exit-codes.ts';
import { askNode } from '../node-client.ts';
import { print } from '../print.ts';
import { table } from '../table.ts';
import { debugSocketOf, withNode } from '../which-node.ts';

export const doctorCommand: AddCommand = (enactor, done) => {
  withNode(enactor.command('doctor'))
    .description(
      'what is wrong on a node, and what to do: sockets, store, API server, metadata, cloud, credentials, clock, groups, pods, kernel, guest agents, kube-proxy',
    )
    .addOption(outputOption())
    .addHelpText(
      'after',
      `${examples('enactor doctor', 'enactor doctor -o json | jq -r \'.[] | select(.is == "problem").says\'')}\n\n1 when there is a problem; warnings alone are 0.`,
    )
    .action(async (options) => {
      const results = await resultsAt(await debugSocketOf(options), options.lab === undefined);
      const hues = { ok: 'green', warning: 'yellow', problem: 'red' } as const;
      print(results, options.output, (paint) =>
        table(
          ['CHECK', 'IS', 'WHAT'],
          results.flatMap(({ check, is, says, whatToDo }) => [
            [check, paint(hues[is], is), says],
            ...(whatToDo === null ? [] : [['', '', `what to do: ${whatToDo}`]]),
          ]),
          paint,
        ),
      );
      done(results.some(({ is }) => is === 'problem') ? EXIT.failed : EXIT.ok);
    });
};

/** A daemon that does not answer is a finding, not a failure of the doctor. */
async function resultsAt(socketPath: string, onThisHost: boolean): Promise<readonly CheckResult[]> {
  try {
    const report = await askNode<NodeReport>(socketPath, '/v1/report');
    const outcomes = await socketOutcomes(await askNode<ConfigReport>(socketPath, '/v1/config'), socketPath);
    return [
      { check: 'daemon', is: 'ok', says: `answers at ${socketPath}`, whatToDo: null },
      ...outcomes.map((outcome) => ({ check: 'sockets', ...outcome })),
      ...examined(report, Date.now()),
      // A node of the lab has a namespace of its own, which is not looked into.
      ...hostResults(report, onThisHost ? thisHost() : null),
      ...(onThisHost ? [...proxyResults(report, proxyRules()), ...policyResults(directPods())] : []),
    ];
  } catch (thrown) {
    if (!(thrown instanceof CommandError) || thrown.exitCode === EXIT.usage) throw thrown;
    const whatToDo = 'see whether enactord runs (kubectl -n kube-system get pods -l app=enactor), and its log';
    return [{ check: 'daemon', is: 'problem', says: thrown.message, whatToDo }];
  }
}
