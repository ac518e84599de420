/**
 * What an operator hands to somebody who was not there: what the node tells of itself, and all that entered its actors in this life, so that the
 * life can be run again. No credentials: names of pods, ids and addresses are in it.
 */
import type { Input } from './input-journal.ts';
import type { Settings } from './settings.ts';

export const BUNDLE_VERSION = 1;

/** One life of the daemon, as a replay needs it. */
export type Life = {
  readonly startMs: number;
  /** The input before its first. */
  readonly seqBefore: number;
  /** Those that it began with; later ones are inputs. */
  readonly settings: Settings;
};

export type SupportBundle<Report, Why> = {
  readonly enactorSupport: typeof BUNDLE_VERSION;
  readonly takenAtMs: number;
  readonly program: { readonly node: string; readonly platform: string; readonly kernel: string };
  readonly life: Life;
  readonly report: Report & { readonly atSeq?: number };
  /** Of this life, up to the report. */
  readonly inputs: readonly Input[];
  /** Of pods that have no address. */
  readonly whys: readonly Why[];
  readonly config: unknown;
  readonly log: readonly unknown[];
};

/** Why a replay cannot be had from these inputs; null when it can. */
export function whyNoReplay({
  life,
  report,
  inputs,
}: Pick<SupportBundle<object, unknown>, 'life' | 'report' | 'inputs'>): string | null {
  const [first] = inputs;
  if (life.settings.inputsMax === 0) return 'the node keeps no journal (inputs_max is 0)';
  if (first === undefined) return 'nothing has entered its actors yet';
  if (first.seq !== life.seqBefore + 1)
    return `the journal no longer reaches back to the start of the daemon (it keeps ${life.settings.inputsMax} inputs: inputs_max)`;
  if (inputs.some(({ seq }, index) => seq !== first.seq + index)) return 'inputs are missing in the journal';
  return inputs.at(-1)?.seq === report.atSeq ? null : 'the journal ends before the report';
}

/** Throws Error when it is none, or of another version. */
export function parseBundle(text: string): SupportBundle<never, never> {
  const bundle = JSON.parse(text) as Partial<SupportBundle<never, never>> | null;
  if (typeof bundle !== 'object' || bundle === null || bundle.enactorSupport === undefined)
    throw new Error('is no support bundle');
  if (bundle.enactorSupport !== BUNDLE_VERSION)
    throw new Error(`is a support bundle of version ${bundle.enactorSupport}; this program reads ${BUNDLE_VERSION}`);
  return bundle as SupportBundle<never, never>;
}
