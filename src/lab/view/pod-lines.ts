/** How many pods run, and of those that wait why, how long and how often they were tried. */
import type { LabStatus, PodStatus } from '../status/lab-status.ts';
import type { DrawOptions } from './draw-options.ts';
import { cut } from './fit.ts';
import { forHowLong, times } from './words.ts';

const WAITING_SHOWN = 5;

export function podLines(status: LabStatus, options: DrawOptions): string[] {
  const { pods, hosts } = status;
  const { paint } = options;
  const those = (...phases: readonly PodStatus['phase'][]) => pods.filter(({ phase }) => phases.includes(phase));
  const running = those('running');
  const waiting = those('starting', 'failed');
  const ending = those('stopping');
  const startTimes = running.map((pod) => pod.startedInMs ?? 0).sort((a, b) => a - b);
  const median = startTimes[Math.floor(startTimes.length / 2)];
  const counts = [
    `${running.length} running`,
    ...(waiting.length === 0 ? [] : [paint('yellow', `${waiting.length} waiting`)]),
    ...(ending.length === 0 ? [] : [`${ending.length} ending`]),
  ];
  const pace = median === undefined ? '' : paint('gray', `  half of them started within ${Math.round(median)} ms`);
  const elsewhere = hosts.map(({ name, ip }) => paint('gray', `  · ${name} ${ip}, a machine without a daemon`));
  const more = waiting.length - WAITING_SHOWN;
  return [
    `${paint('bold', 'pods')}  ${counts.join(' · ')}${pace}${elsewhere.join('')}`,
    ...waiting.slice(0, WAITING_SHOWN).map((pod) => waitingLine(pod, status.atMs, options)),
    ...(more > 0 ? [paint('gray', `  … and ${more} more`)] : []),
  ];
}

/** On a narrow terminal the reason loses its end, since its beginning says what it is. */
function waitingLine(pod: PodStatus, atMs: number, { paint, columns }: DrawOptions): string {
  const tried = pod.failedTries === 0 ? '' : `, tried ${times(pod.failedTries)}`;
  const end = ` (on ${pod.node} for ${forHowLong(atMs - pod.sinceMs)}${tried})`;
  const reason = pod.failure ?? 'being started';
  const room = Math.max(columns - 1 - end.length, 40);
  return paint(pod.failedTries === 0 ? 'yellow' : 'red', cut(`  ${pod.name}  ${reason}`, room) + end);
}
