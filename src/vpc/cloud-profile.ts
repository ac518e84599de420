/**
 * A profile: what was measured of a real cloud (`enactor verify-cloud --write-profile`), in the terms of the simulated one's settings.
 * The lab's cloud and the simulation's seeds take it in place of the estimates that it replaces.
 */
import { type Delays, defaultSettings, type Settings } from './settings.ts';

/** Of the settings, those that a look at a cloud from outside can tell. */
const SWITCHES = [
  ...(['conflicts', 'detachAvailable', 'tagFilters', 'shortAssigns', 'reuse', 'pageMax'] as const),
  'secondaryIpv4Unattached',
] as const satisfies readonly (keyof Settings)[];

export type ProfileSettings = Partial<Pick<Settings, (typeof SWITCHES)[number]>> & {
  readonly delays: Partial<Delays>;
};

export type CloudProfile = {
  readonly kind: 'enactor.cloud-profile/1';
  /** When and where: for people. */
  readonly measured: Readonly<Record<string, string>>;
  readonly settings: ProfileSettings;
};

const CHOICES: Readonly<Record<string, readonly unknown[]>> = {
  conflicts: [true, false],
  shortAssigns: [true, false],
  detachAvailable: ['refuse', 'accept'],
  tagFilters: ['all', 'any'],
  reuse: ['late', 'soon'],
};

/** From the text of a file. Throws RangeError that names the field. */
export function parseProfile(text: string): CloudProfile {
  const file = objectAt('the profile', read(text));
  if (file.kind !== 'enactor.cloud-profile/1')
    throw new RangeError(`kind: ${told(file.kind)} is not enactor.cloud-profile/1`);
  const { delays = {}, ...switches } = objectAt('settings', file.settings ?? {});
  const known = defaultSettings('realistic');
  for (const [name, value] of Object.entries(switches)) checkSwitch(name, value);
  for (const [name, value] of Object.entries(objectAt('settings.delays', delays))) {
    if (!Object.hasOwn(known.delays, name)) throw new RangeError(`settings.delays.${name}: there is no such delay`);
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
      throw new RangeError(`settings.delays.${name}: ${told(value)} is no number of milliseconds`);
  }
  const measured = Object.entries(objectAt('measured', file.measured ?? {})).map(([key, value]) => [key, `${value}`]);
  return {
    kind: 'enactor.cloud-profile/1',
    measured: Object.fromEntries(measured),
    settings: { ...switches, delays: delays as Partial<Delays> } as ProfileSettings,
  };
}

/** The settings with what was measured in place of what was estimated. */
export function withProfile(settings: Settings, { settings: measured }: CloudProfile): Settings {
  const { delays, ...switches } = measured;
  return { ...settings, ...switches, delays: { ...settings.delays, ...delays } };
}

function checkSwitch(name: string, value: unknown): void {
  if (!SWITCHES.some((one) => one === name)) throw new RangeError(`settings.${name}: a profile does not tell this`);
  const choices = CHOICES[name];
  if (choices !== undefined && !choices.includes(value))
    throw new RangeError(`settings.${name}: ${told(value)} is none of ${choices.join(', ')}`);
  if (choices === undefined && !(Number.isInteger(value) && (value as number) > 0))
    throw new RangeError(`settings.${name}: ${told(value)} is no whole number above 0`);
}

function read(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RangeError(`the profile is no JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function objectAt(where: string, value: unknown): Record<string, unknown> {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new RangeError(`${where}: ${told(value)} is no object`);
  return value as Record<string, unknown>;
}

const told = (value: unknown): string => JSON.stringify(value)?.slice(0, 60) ?? 'nothing';
