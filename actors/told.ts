/**
 * What the cloud has told of the instance: asked once, however often a step that needs it fails, since the account's calls are everybody's.
 *
 * Limits and vSwitches are kept on disk too, for the next start (remembered-cloud.ts). The listings of ENIs serve identifying and, once and while
 * they are new, the look that follows.
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
import type { Intents } from './intents.ts';
import type { NodePorts } from './ports.ts';

/** What the instance is asked about at the cloud. */
export type Asked = Pick<Cloud, 'instanceLimits' | 'describeEnis'> & {
  vSwitches(ids: readonly string[], signal: AbortSignal): Promise<readonly KnownVSwitch[]>;
  recall?(instanceId: string, dual: boolean): Promise<void>;
};

/** One listing. It may have waited for its turn for long between the two instants. */
export type Listing = {
  readonly askedMs: number;
  readonly answeredMs: number;
  /** Of the intents, as it was asked. */
  readonly changes: number;
  readonly enis: readonly CloudEni[];
};

export type Listings = { readonly attached: Listing; readonly tagged: Listing };

const TOLD_MS = 120_000;
/** How long ago the last of the listings may have come on which a life is begun. */
const NEW_MS = 10_000;
/** Limits, vSwitches, ENIs. */
const QUESTIONS = 3;

export class Told implements Asked {
  readonly #ports: Pick<NodePorts, 'cloud' | 'store' | 'clock'>;
  readonly #intents: Pick<Intents, 'changes'>;
  readonly #answers = new Map<string, { readonly atMs: number; readonly answer: unknown }>();
  #remembered: RememberedCloud | null = null;
  #limits: InstanceLimits | null = null;
  #vSwitches: readonly KnownVSwitch[] | null = null;
  #isNew = false;
  #attached: Listing | null = null;
  #tagged: Listing | null = null;

  /** @param intents by which it is known that no call of ours came between a listing and its use */
  constructor(ports: Pick<NodePorts, 'cloud' | 'store' | 'clock'>, intents: Pick<Intents, 'changes'>) {
    this.#ports = ports;
    this.#intents = intents;
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

  /** The listing by our tags, beside that of what is attached. Never rejects: who goes without it asks himself. */
  async lookAhead(tags: Readonly<Record<string, string>>, signal: AbortSignal): Promise<void> {
    const { answeredMs = Number.NEGATIVE_INFINITY } = this.#tagged ?? {};
    if (this.#ports.clock.nowMs() - answeredMs < TOLD_MS) return;
    this.#tagged = await this.#listing({ tags }, signal).catch(() => this.#tagged);
  }

  /** Both listings, once; null unless the last of them has come just now, and since the first was asked for no intent was opened or closed. */
  takeListings(): Listings | null {
    const [attached, tagged] = [this.#attached, this.#tagged];
    this.#attached = null;
    this.#tagged = null;
    if (attached === null || tagged === null) return null;
    if ([attached, tagged].some(({ changes }) => changes !== this.#intents.changes)) return null;
    const nowMs = this.#ports.clock.nowMs();
    const agesMs = [attached, tagged].map(({ answeredMs }) => nowMs - answeredMs);
    return Math.min(...agesMs) < NEW_MS && Math.max(...agesMs) < TOLD_MS ? { attached, tagged } : null;
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
    return await this.#kept(`enis ${JSON.stringify(filter)}`, async () => {
      this.#attached = await this.#listing(filter, signal);
      return [...this.#attached.enis];
    });
  }

  async #listing(filter: Parameters<Asked['describeEnis']>[0], signal: AbortSignal): Promise<Listing> {
    const { cloud, clock } = this.#ports;
    const { changes } = this.#intents;
    const askedMs = clock.nowMs();
    const enis = await cloud.describeEnis(filter, signal);
    return { askedMs, answeredMs: clock.nowMs(), changes, enis };
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
