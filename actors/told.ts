/**
 * What the cloud has told of the instance: asked once, however often a step that needs it fails, since the account's calls are everybody's.
 *
 * Limits and vSwitches are kept on disk too, for the next start (remembered-cloud.ts).
 */
import type { CloudEni, InstanceLimits } from '../src/core/eni.ts';
import {
  type KnownVSwitch,
  parseRememberedCloud,
  REMEMBERED_CLOUD_KEY,
  REMEMBERED_CLOUD_VERSION,
  type RememberedCloud,
} from '../src/core/remembered-cloud.ts';
import type { Cloud } from '../src/ports/cloud.ts';
import type { StoreOp } from '../src/ports/store.ts';
import type { NodePorts } from './ports.ts';

/** What the instance is asked about at the cloud. */
export type Asked = Pick<Cloud, 'instanceLimits' | 'describeEnis'> & {
  vSwitches(ids: readonly string[], signal: AbortSignal): Promise<readonly KnownVSwitch[]>;
  recall?(instanceId: string, dual: boolean): Promise<void>;
};

const TOLD_MS = 120_000;
/** Limits, vSwitches, ENIs. */
const QUESTIONS = 3;

export class Told implements Asked {
  readonly #ports: Pick<NodePorts, 'cloud' | 'store' | 'clock'>;
  readonly #answers = new Map<string, { readonly atMs: number; readonly answer: unknown }>();
  #remembered: RememberedCloud | null = null;
  #limits: InstanceLimits | null = null;
  #vSwitches: readonly KnownVSwitch[] | null = null;
  #isNew = false;

  constructor(ports: Pick<NodePorts, 'cloud' | 'store' | 'clock'>) {
    this.#ports = ports;
  }

  /** Looks up what is remembered of this instance. A store that cannot be read remembers nothing. */
  async recall(instanceId: string, dual: boolean): Promise<void> {
    const { cloud, store, clock } = this.#ports;
    const of = cloud.keptAs;
    if (of === undefined) return;
    const records = await store.read('meta').catch(() => []);
    const record = records.find(({ key }) => key === REMEMBERED_CLOUD_KEY);
    const remembered = parseRememberedCloud(record?.value, { instanceId, of }, clock.nowMs());
    const lacking = dual && remembered?.vSwitches.some(({ ipv6Cidr }) => ipv6Cidr === null);
    this.#remembered = lacking === true ? null : remembered;
  }

  /** When all was answered and it is not enough (a primary ENI that is not shown yet), asking again is the only way on. */
  get isWhole(): boolean {
    return this.#answers.size >= QUESTIONS;
  }

  forget(): void {
    this.#answers.clear();
  }

  /** What the cloud has told of late, to be kept in this instance's store. */
  toKeep(instanceId: string): readonly StoreOp[] {
    const of = this.#ports.cloud.keptAs;
    if (of === undefined || !this.#isNew || this.#limits === null || this.#vSwitches === null) return [];
    const vSwitches = this.#vSwitches.map(({ availableAddresses: _, ...fixed }) => fixed);
    const told = { instanceId, of, limits: this.#limits, vSwitches };
    // Half of it may be as old as before.
    const atMs = this.#remembered?.atMs ?? this.#ports.clock.nowMs();
    const value: RememberedCloud = { version: REMEMBERED_CLOUD_VERSION, atMs, ...told };
    return [{ type: 'put', in: 'meta', key: REMEMBERED_CLOUD_KEY, value }];
  }

  async instanceLimits(type: string, signal: AbortSignal): Promise<InstanceLimits> {
    const known = this.#remembered?.limits;
    return await this.#kept(`limits ${type}`, async () => {
      const isKnown = known?.instanceType === type;
      const limits = isKnown ? known : await this.#ports.cloud.instanceLimits(type, signal);
      this.#limits = limits;
      this.#isNew ||= !isKnown;
      return limits;
    });
  }

  async vSwitches(ids: readonly string[], signal: AbortSignal): Promise<readonly KnownVSwitch[]> {
    const known = ids.map((id) => this.#remembered?.vSwitches.find(({ vSwitchId }) => vSwitchId === id));
    return await this.#kept(`vSwitches ${ids.join(' ')}`, async () => {
      const there = known.filter((one) => one !== undefined);
      const isKnown = there.length === ids.length;
      const vSwitches: readonly KnownVSwitch[] = isKnown
        ? there.map((one) => ({ ...one, availableAddresses: null }))
        : await this.#ports.cloud.vSwitches(ids, signal);
      this.#vSwitches = vSwitches;
      this.#isNew ||= !isKnown;
      return vSwitches;
    });
  }

  async describeEnis(filter: Parameters<Asked['describeEnis']>[0], signal: AbortSignal): Promise<CloudEni[]> {
    return await this.#kept(`enis ${JSON.stringify(filter)}`, () => this.#ports.cloud.describeEnis(filter, signal));
  }

  async #kept<T>(question: string, ask: () => Promise<T>): Promise<T> {
    const { clock } = this.#ports;
    const known = this.#answers.get(question);
    if (known !== undefined && clock.nowMs() - known.atMs < TOLD_MS) return known.answer as T;
    const answer = await ask();
    this.#answers.set(question, { atMs: clock.nowMs(), answer });
    return answer;
  }
}
