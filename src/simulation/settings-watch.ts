/**
 * What was configured is what everybody goes by from the moment it was taken, and whoever is told to look does so. Written from the
 * settings themselves: an actor that was not told, or did not listen, is found at the end of the step.
 */
import type { AnyActorRef } from 'xstate';
import type { KernelKeeperContext } from '../../statecharts/kernel-keeper.ts';
import type { NodeContext } from '../../statecharts/node.ts';
import { eniTimesOf } from '../core/eni-times.ts';
import { factorySettingsOf } from '../core/factory-settings.ts';
import { kernelKeeperSettingsOf } from '../core/keeper-settings.ts';
import { poolSettingsOf } from '../core/pool-settings.ts';
import type { Report } from './violation.ts';

/** @param actors the singletons by chart @param enis those that live; returns how many things were compared */
export function checkSettings(
  node: NodeContext,
  actors: ReadonlyMap<string, AnyActorRef>,
  enis: readonly { readonly times: object }[],
  report: Report,
): number {
  const { settings, cordoned, facts } = node;
  const { cloudPeriodMs, gcPeriodMs, gcGraceMs, gcTimeoutMs, backoffMs } = settings;
  const { eniCap = 0, vSwitches = [] } = facts ?? {};
  // What a look has found of them since is the factory's own.
  const { vSwitches: _, ...factory } = factorySettingsOf(settings, { eniCap, vSwitches });
  const right: Readonly<Record<string, object>> = {
    eniFactory: factory,
    idlePool: poolSettingsOf(settings, cordoned),
    kernelKeeper: kernelKeeperSettingsOf(settings),
    cloudKeeper: { periodMs: cloudPeriodMs },
    garbageCollector: { periodMs: gcPeriodMs, graceMs: gcGraceMs, timeoutMs: gcTimeoutMs, backoffMs },
  };
  const compare = (who: string, own: Readonly<Record<string, unknown>>, wanted: object): void => {
    for (const [key, value] of Object.entries(wanted))
      if (JSON.stringify(own[key]) !== JSON.stringify(value))
        report('alive', `${who} goes by ${key} ${JSON.stringify(own[key])}, and it is ${JSON.stringify(value)} now`);
  };
  for (const [chart, wanted] of Object.entries(right)) {
    const context = actors.get(chart)?.getSnapshot()?.context as Readonly<Record<string, unknown>> | undefined;
    if (context !== undefined) compare(chart, context, wanted);
  }
  const known = (actors.get('eniFactory')?.getSnapshot()?.context.vSwitches ?? []) as readonly { vSwitchId: string }[];
  const ids = (all: readonly { readonly vSwitchId: string }[]): object => ({ ids: all.map((one) => one.vSwitchId) });
  compare('eniFactory', ids(known) as Record<string, unknown>, ids(vSwitches));
  for (const { times } of enis) compare('an ENI', { times }, { times: eniTimesOf(settings) });
  return 6 + enis.length;
}

/** A keeper that is told to look is looking, or will once its look is over; what it sees of the host then is all. */
export function checkLookNow(chart: string, from: string, path: string, context: unknown, report: Report): void {
  const looks = /^(listing|suspecting|confirming|condemning|collecting|doubting|sweeping|gathering)/.test(path);
  if (!looks) report('alive', `the ${chart} was told to look, and is ${path}`);
  if (chart !== 'kernelKeeper') return;
  const { thoroughMs, periodMs, nowMs, again } = context as KernelKeeperContext;
  if (thoroughMs + periodMs > nowMs) report('alive', 'the kernel keeper was told to look, and will not look at all');
  if (from === 'sweeping' && !again)
    report('alive', 'the kernel keeper was told to look during a look, and forgets it');
}
