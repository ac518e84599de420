/**
 * Faults that someone planted: the next `times` calls of an API (that also match `params`) go wrong in a chosen way.
 *
 * Faults apply in the order of their planting; of each effect kind one per call at most, so a delay and a dropped reply can
 * meet on one call. Once used up a fault is gone.
 */
export type Effect =
  /** Refused, not carried out. Code, status and sentence as given, or as the error table has them. */
  | { readonly effect: 'fail'; readonly code: string; readonly status: number | null; readonly message: string | null }
  /** Carried out; answered so much later. */
  | { readonly effect: 'delay'; readonly ms: number }
  /** Carried out; the connection closes without an answer (`close`), in the middle of it (`cut`), or stays silent (`hang`). */
  | { readonly effect: 'drop'; readonly how: 'close' | 'cut' | 'hang' }
  /** Not carried out, not answered, until the fault is released. */
  | { readonly effect: 'hold' }
  /** Carried out, or not; answered with these bytes. */
  | {
      readonly effect: 'reply';
      readonly status: number;
      readonly contentType: string;
      readonly body: string;
      readonly carriedOut: boolean;
    }
  /** Carried out and answered well; the state change that follows takes `lastsMs` (null: as usual) and may fail silently. */
  | { readonly effect: 'transition'; readonly lastsMs: number | null; readonly fails: boolean };

export type Fault = Effect & {
  /** The API's name, `Metadata` for the metadata service, `*` for any API (not metadata). */
  readonly api: string;
  readonly times: number;
  /** Parameters of the wire, all of which must have these values, such as `NetworkInterfaceId` or `PrivateIpAddress.1`. */
  readonly params: Readonly<Record<string, string>>;
};

export type PlantedFault = Fault & { readonly id: string; readonly left: number };

/** What happens to one call. */
export type Verdict = {
  readonly faultIds: readonly string[];
  readonly fail: (Effect & { effect: 'fail' }) | null;
  readonly delayMs: number;
  readonly drop: 'close' | 'cut' | 'hang' | null;
  /** Id of the fault whose release lets the call go on. */
  readonly heldBy: string | null;
  readonly reply: (Effect & { effect: 'reply' }) | null;
  readonly transition: { readonly lastsMs: number | null; readonly fails: boolean } | null;
};

export class FaultPlan {
  #planted: { fault: Fault; id: string; left: number }[] = [];
  #count = 0;

  plant(fault: Fault): string {
    this.#count += 1;
    const id = `fault-${this.#count}`;
    this.#planted.push({ fault, id, left: fault.times });
    return id;
  }

  /** True when there was such a fault. Calls it holds are the caller's to let go. */
  remove(id: string): boolean {
    const before = this.#planted.length;
    this.#planted = this.#planted.filter((one) => one.id !== id);
    return this.#planted.length < before;
  }

  list(): readonly PlantedFault[] {
    return this.#planted.map(({ fault, id, left }) => ({ ...fault, id, left }));
  }

  /** Decides about one call and uses up what applies. */
  take(api: string, params: Readonly<Record<string, string>>): Verdict {
    const taken = new Map<Effect['effect'], { fault: Fault; id: string }>();
    for (const one of this.#planted) {
      if (taken.has(one.fault.effect) || one.left === 0 || !applies(one.fault, api, params)) continue;
      one.left -= 1;
      taken.set(one.fault.effect, one);
    }
    this.#planted = this.#planted.filter((one) => one.left > 0 || one.fault.effect === 'hold');
    const effect = <E extends Effect['effect']>(kind: E) => {
      const fault = taken.get(kind)?.fault;
      return fault?.effect === kind ? (fault as Fault & { effect: E }) : null;
    };
    const transition = effect('transition');
    return {
      faultIds: [...taken.values()].map((one) => one.id),
      fail: effect('fail'),
      delayMs: effect('delay')?.ms ?? 0,
      drop: effect('drop')?.how ?? null,
      heldBy: taken.get('hold')?.id ?? null,
      reply: effect('reply'),
      transition: transition === null ? null : { lastsMs: transition.lastsMs, fails: transition.fails },
    };
  }
}

function applies(fault: Fault, api: string, params: Readonly<Record<string, string>>): boolean {
  if (fault.api !== api && !(fault.api === '*' && api !== 'Metadata')) return false;
  return Object.entries(fault.params).every(([name, value]) => params[name] === value);
}
