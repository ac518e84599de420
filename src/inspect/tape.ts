/**
 * All that happened in one life of a node's actors, and how they were after each of its inputs.
 *
 * It is taken once, while a life is replayed or simulated. Snapshots are immutable and share what stays the same, so that to keep each of
 * them costs little; a moment of the past is then read off them as the present is read off the actors, without running anything again.
 */
import type { AnyActorRef, InspectionEvent } from 'xstate';
import { actorDetail } from '../../actors/actor-detail.ts';
import { entersFromOutside } from '../../actors/inputs.ts';
import { newsOf } from '../../actors/observer.ts';
import { reportOf } from '../../actors/report.ts';
import { NEVER, type Since, sinceAfter } from '../../actors/since.ts';
import { statePath } from '../../actors/state-path.ts';
import type { NodeRef } from '../../statecharts/node.ts';
import type { Inspected } from '../ports/inspected.ts';
import type { ActorDetail } from '../ports/introspection.ts';
import type { Mark, Moment } from './told.ts';

/** What was seen before a moment that goes along with it. */
const SEEN_MAX = 600;

type Snapshot = { readonly status: string; readonly value?: unknown; readonly children?: Record<string, AnyActorRef> };
type Kept = { readonly index: number; readonly snapshot: Snapshot; readonly since: Since };
type Noted = { readonly index: number; readonly atMs: number; readonly event: InspectionEvent };

export class Tape {
  readonly #marks: Mark[] = [];
  readonly #noted: Noted[] = [];
  readonly #kept = new Map<AnyActorRef, Kept[]>();
  #root: AnyActorRef | null = null;
  readonly #startMs: number;

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  /** To be called for every inspection event of the root, in their order. */
  heard(event: InspectionEvent, atMs: number): void {
    const actor = event.actorRef as AnyActorRef;
    if (event.type === '@xstate.actor') this.#root ??= actor;
    if (event.type === '@xstate.event' && entersFromOutside(event))
      this.#marks.push([atMs, actor === this.#root ? 'node' : actor.id, event.event.type]);
    if (event.type === '@xstate.snapshot') this.#keep(actor, event.snapshot as Snapshot, atMs);
    if (event.type !== '@xstate.microstep' && event.type !== '@xstate.action')
      this.#noted.push({ index: this.length, atMs, event });
  }

  /** Inputs so far. */
  get length(): number {
    return this.#marks.length;
  }

  get marks(): readonly Mark[] {
    return this.#marks;
  }

  /** After input `index`, counted from 1; 0 is before the first. What is beyond an end is the end. */
  at(index: number): Moment {
    const near = Math.min(Math.max(0, Math.trunc(index)), this.length);
    const root = this.#mustRoot();
    const report = reportOf(this.#asOf(root, near) as unknown as NodeRef, (ref) => this.#sinceOf(ref, near));
    const atMs = this.#marks[near - 1]?.[0] ?? this.#startMs;
    return { index: near, atMs, report, fromSeq: this.#countUntil(near - 1) + 1, seen: this.#seenUntil(near) };
  }

  /** null when there was none at this path. */
  actor(path: string, index: number): ActorDetail | null {
    return actorDetail(this.#asOf(this.#mustRoot(), index), path, (ref) => this.#sinceOf(ref, index));
  }

  #mustRoot(): AnyActorRef {
    if (this.#root === null) throw new Error('nothing was heard yet');
    return this.#root;
  }

  #keep(actor: AnyActorRef, snapshot: Snapshot, atMs: number): void {
    const all = this.#kept.get(actor) ?? [];
    const state = snapshot.value === undefined ? '' : statePath(snapshot.value);
    const last = all.at(-1);
    const kept = { index: this.length, snapshot, since: sinceAfter(last?.since, state, atMs) };
    // Of several within one input only the last can be asked for.
    if (last?.index === this.length) all[all.length - 1] = kept;
    else all.push(kept);
    this.#kept.set(actor, all);
  }

  #keptAt(actor: AnyActorRef, index: number): Kept | undefined {
    const all = this.#kept.get(actor) ?? [];
    let [low, high] = [0, all.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((all[middle] as Kept).index <= index) low = middle + 1;
      else high = middle;
    }
    return all[low - 1];
  }

  #sinceOf(actor: AnyActorRef, index: number): Since {
    const { real = actor } = actor as unknown as { real?: AnyActorRef };
    return this.#keptAt(real, index)?.since ?? NEVER;
  }

  /** Stands for the actor as it was then, for those who only read. */
  #asOf(actor: AnyActorRef, index: number): AnyActorRef {
    const childrenOf = (one: AnyActorRef): Record<string, AnyActorRef> => {
      const { children = {} } = this.#snapshotAt(one, index);
      return Object.fromEntries(Object.entries(children).map(([id, child]) => [id, this.#asOf(child, index)]));
    };
    const { logic, _parent } = actor as unknown as { logic: unknown; _parent: unknown };
    return {
      ...{ id: actor.id, logic, _parent, real: actor },
      getSnapshot: () => ({ ...this.#snapshotAt(actor, index), children: childrenOf(actor) }),
      // The singletons are children of the root under their own names.
      system: { get: (name: string) => childrenOf(this.#mustRoot())[name] },
    } as unknown as AnyActorRef;
  }

  #snapshotAt(actor: AnyActorRef, index: number): Snapshot {
    return this.#keptAt(actor, index)?.snapshot ?? (actor.getSnapshot() as Snapshot);
  }

  /** How much was noted up to the end of this input. */
  #countUntil(index: number): number {
    let [low, high] = [0, this.#noted.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#noted[middle] as Noted).index <= index) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #seenUntil(index: number): readonly Inspected[] {
    const end = this.#countUntil(index);
    const first = Math.max(0, end - SEEN_MAX);
    return this.#noted.slice(first, end).flatMap(({ atMs, event }, offset) => {
      const news = event.type === '@xstate.actor' ? null : newsOf(event);
      return news === null ? [] : [{ seq: first + offset + 1, atMs, ...news } as Inspected];
    });
  }
}
