/**
 * The lab that lives until it is told to end: draws itself in place on a terminal, and says what changes in plain lines into a pipe.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ControlServer } from './control/control-server.ts';
import { LAB_PROCESS } from './control/find-lab.ts';
import { type Lab, type LabOptions, startLab } from './lab.ts';
import type { ProxyForm } from './services/kube-proxy.ts';
import { LiveServices } from './services/live-services.ts';
import { type LabStatus, labStatus } from './status/lab-status.ts';
import { ReachabilityWatch } from './status/reachability.ts';
import { drawLab } from './view/draw-lab.ts';
import { hasProgram } from './view/has-program.ts';
import { paintFor } from './view/paint.ts';
import { Screen } from './view/screen.ts';

export type LiveOptions = Omit<LabOptions, 'say'> & {
  readonly pods: number;
  readonly out: NodeJS.WriteStream;
  readonly rootless: boolean;
  /** null: no services, and nothing beyond the VPC. */
  readonly services: ProxyForm | null;
  /** How readers call this program. */
  readonly command: string;
  readonly signal: AbortSignal;
};

const REDRAW_MS = 300;
const PLAIN_STATUS_MS = 10_000;

/** Resolves, after the end, with what went wrong or was left: an empty list is a good end. */
export async function runLive(options: LiveOptions): Promise<readonly string[]> {
  const { out, signal } = options;
  process.title = LAB_PROCESS;
  const print = (line: string) => out.write(`${line}\n`);
  const recent: string[] = [];
  const view = out.isTTY ? new Screen(out) : null;
  const tell = (line: string) => {
    recent.push(`${new Date().toLocaleTimeString('en-GB')}  ${line}`);
    if (view === null) print(line);
  };
  const lab = await startLab({ ...options, say: print });
  const watch = new ReachabilityWatch(lab);
  const services = options.services === null ? null : await LiveServices.open(lab, options.services, tell);
  const control = new ControlServer(lab, watch, tell);
  await control.listen();
  watch.start();
  const pods = addPods(lab, options.pods, tell);
  try {
    if (view === null) await plainLines(lab, watch, print, signal);
    else await drawing(lab, watch, view, recent, options);
  } finally {
    view?.end();
  }
  print('');
  await watch.stop();
  await control.close();
  await services?.close();
  await pods;
  return stopLab(lab, print);
}

async function stopLab(lab: Lab, print: (line: string) => void): Promise<readonly string[]> {
  const trouble = await lab.stop();
  for (const line of trouble) print(`trouble: ${line}`);
  print(trouble.length === 0 ? 'gone; nothing is left' : 'gone, with trouble');
  return trouble;
}

async function addPods(lab: Lab, count: number, tell: (line: string) => void): Promise<void> {
  const add = async (name: string) => {
    try {
      const pod = await lab.addPod(name);
      tell(`pod ${name} runs on ${pod.node} with ${pod.ips.join(', ')} after ${Math.round(pod.startedInMs ?? 0)} ms`);
    } catch (error) {
      tell(error instanceof Error ? error.message : String(error));
    }
  };
  await Promise.all(Array.from({ length: count }, (_, index) => add(`web-${index + 1}`)));
}

async function drawing(
  lab: Lab,
  watch: ReachabilityWatch,
  view: Screen,
  recent: readonly string[],
  { out, rootless, command, signal }: LiveOptions,
): Promise<void> {
  const beginMs = performance.now();
  const resized = () => view.forget();
  out.on('resize', resized);
  try {
    while (!signal.aborted) {
      const status = await labStatus(lab, watch.latest);
      view.draw(
        drawLab(status, {
          columns: view.columns,
          rows: view.rows,
          paint: paintFor(out),
          upMs: performance.now() - beginMs,
          rootless,
          recent,
          command,
          hasIp: hasProgram('ip'),
        }),
      );
      await sleep(REDRAW_MS, undefined, { signal }).catch(() => {});
    }
  } finally {
    out.off('resize', resized);
  }
}

async function plainLines(
  lab: Lab,
  watch: ReachabilityWatch,
  print: (line: string) => void,
  signal: AbortSignal,
): Promise<void> {
  let before = '';
  while (!signal.aborted) {
    await sleep(PLAIN_STATUS_MS, undefined, { signal }).catch(() => {});
    const line = oneLine(await labStatus(lab, watch.latest));
    if (line !== before && !signal.aborted) print(line);
    before = line;
  }
}

function oneLine({ nodes, pods, reachability, refused, problems }: LabStatus): string {
  const running = pods.filter((pod) => pod.phase === 'running').length;
  const worked = reachability.outcomes.filter((outcome) => outcome.worked).length;
  const enis = nodes.reduce((sum, node) => sum + (node.report?.enis.length ?? 0), 0);
  return [
    `${running} of ${pods.length} pods run`,
    `${enis} ENIs`,
    reachability.outcomes.length === 0
      ? 'no path tried yet'
      : `${worked} of ${reachability.outcomes.length} paths work`,
    `${refused.routingFault} routing faults`,
    ...problems,
  ].join(', ');
}
