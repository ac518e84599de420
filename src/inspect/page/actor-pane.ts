/** The selected actor in full: since when it is in its state, what it would hear of, its context, and what happened to it. */
import type { ActorDetail } from '../../ports/introspection.ts';
import { el, Keyed, part, setText, setTitle } from './element.ts';
import type { Row } from './lifelines.ts';
import type { Model } from './model.ts';
import { ago, clock, fieldsOf } from './words.ts';

const HISTORY_MAX = 60;
/** An actor that changes all the time is asked no more often. */
const ASK_MS = 400;

export class ActorPane {
  readonly #model: Model;
  readonly #history: Keyed<Row, HTMLLIElement>;
  #asking = false;
  #askedFor = '';
  #askedMs = 0;
  #detail: ActorDetail | null = null;
  #told: ActorDetail | null = null;

  constructor(model: Model) {
    this.#model = model;
    this.#history = new Keyed<Row, HTMLLIElement>(
      part('history'),
      () => el('li', {}, el('time'), el('b'), el('span')),
      (line, { atMs, label, kind, sender, seen }) => {
        // What has happened stays as it was.
        if (line.className !== '') return;
        setText(line.children[0] as Element, clock(atMs));
        setText(line.children[1] as Element, kind === 'state' ? `→ ${label}` : label);
        const from = sender === null ? '' : `from ${sender.slice(sender.lastIndexOf('/') + 1)}  `;
        setText(line.children[2] as Element, seen.kind === 'event' ? `${from}${fieldsOf(seen.event)}` : '');
        line.className = `of-${kind}`;
      },
    );
    model.on(['selection', 'report', 'rows', 'time'], () => this.draw());
  }

  draw(): void {
    const { selected, rows } = this.#model;
    const own = rows.filter(({ actor }) => actor === selected).slice(-HISTORY_MAX);
    this.#history.show(own.reverse(), ({ seq, kind }) => `${seq} ${kind}`);
    part('no-history').hidden = own.length > 0;
    void this.#ask();
    this.#tell();
  }

  async #ask(): Promise<void> {
    const { selected, live, index, tape, connection } = this.#model;
    const wanted = live ? selected : `${selected} ${tape} ${index}`;
    const soon = performance.now() - this.#askedMs < ASK_MS;
    if (this.#asking || (wanted === this.#askedFor && (!live || soon))) return;
    this.#asking = true;
    this.#askedFor = wanted;
    this.#askedMs = performance.now();
    const path = live ? '/api/actor' : '/api/past/actor';
    const params = live ? { path: selected } : { path: selected, tape, index };
    this.#detail = await connection.ask<ActorDetail>(path, params).catch(() => null);
    this.#asking = false;
    this.#tell();
    // What was chosen meanwhile.
    if (this.#model.selected !== selected || this.#model.index !== index) void this.#ask();
  }

  #tell(): void {
    const { selected, actors } = this.#model;
    const actor = actors.get(selected);
    const detail = this.#detail?.path === selected ? this.#detail : null;
    setText(part('actor-path'), selected);
    setTitle(part('actor-path'), selected);
    const state = actor === undefined ? 'is not there' : actor.state || 'is there';
    const since =
      actor === undefined || actor.sinceMs === 0 ? '' : ` for ${ago(this.#model.atMs(Date.now()) - actor.sinceMs)}`;
    setText(part('actor-state'), `${state}${since}`);
    const hears = (detail?.accepts ?? []).filter((event) => !event.startsWith('xstate.'));
    setText(part('actor-accepts'), hears.length === 0 ? '' : `hears: ${hears.join(', ')}`);
    if (this.#told === detail) return;
    this.#told = detail;
    setText(part('actor-context'), detail?.context === undefined ? '' : JSON.stringify(detail.context, null, 1));
  }
}
