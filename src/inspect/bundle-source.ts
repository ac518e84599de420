/** A support bundle: the life in it is run again, once, and can then be looked at as it was after each input. */
import { charts } from '../../actors/chart-data.ts';
import { replaying } from '../../actors/replay.ts';
import { type SupportBundle, whyNoReplay } from '../core/support-bundle.ts';
import type { NodeReport, Why } from '../ports/introspection.ts';
import type { Source } from './source.ts';
import { Tape } from './tape.ts';
import { tapedSource } from './taped-source.ts';

export type Bundle = SupportBundle<NodeReport, Why>;

/** Throws Error with a sentence when it cannot be replayed. */
export function bundleSource(bundle: Bundle, title: string): Source {
  const without = whyNoReplay(bundle);
  if (without !== null) throw new Error(without);
  const { settings } = bundle.life;
  // A life begins with the start of its root, at the instant of its first input as far as anybody can tell.
  const startMs = bundle.inputs[0]?.atMs ?? bundle.life.startMs;
  const tape = new Tape(startMs);
  const { take } = replaying(settings, startMs, (event, atMs) => tape.heard(event, atMs));
  for (const input of bundle.inputs) take(input);
  const source = tapedSource('bundle', title, [{ name: `${settings.nodeName}, one life`, tape }], charts());
  return { ...source, why: async (pod) => bundle.whys.find((one) => one.pod === pod) ?? null };
}
