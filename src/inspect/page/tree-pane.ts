/** The tree of actors. Many leases are one line, beside which those that are not simply bound keep theirs. */
import { el, flash, Keyed, part, setClass, setText, setTitle } from './element.ts';
import type { ActorShown, Model } from './model.ts';
import { compareNames, lastOf } from './words.ts';

type Line =
  | { readonly kind: 'actor'; readonly actor: ActorShown; readonly depth: number }
  | { readonly kind: 'group'; readonly open: boolean; readonly text: string; readonly depth: number };

/** More of them than this are told of together. */
const TOGETHER = 12;

export class TreePane {
  readonly #model: Model;
  readonly #lines: Keyed<Line, HTMLLIElement>;
  readonly #list = part('tree');
  #open = false;
  #order: readonly string[] = [];

  constructor(model: Model) {
    this.#model = model;
    this.#lines = new Keyed<Line, HTMLLIElement>(
      this.#list,
      (key) => {
        const line = el('li', { role: 'treeitem' }, el('span', { class: 'name' }), el('span', { class: 'state' }));
        line.dataset.key = key;
        return line;
      },
      (line, item) => this.#fill(line, item),
    );
    this.#list.addEventListener('click', (event) => this.#chosen((event.target as Element).closest('li')?.dataset.key));
    this.#list.addEventListener('keydown', (event) => this.#move(event));
    model.on(['report', 'rows', 'selection', 'follow'], () => this.draw());
  }

  draw(): void {
    this.#lines.show(this.#shown(), (line) => (line.kind === 'actor' ? line.actor.path : 'group'));
  }

  #shown(): readonly Line[] {
    const { actors, follow, selected } = this.#model;
    const all = this.#sorted(actors);
    const leases = all.filter(({ chart }) => chart === 'lease');
    const together = leases.length > TOGETHER;
    const lines: Line[] = [];
    for (const actor of all) {
      const { path, chart, state } = actor;
      const depth = depthOf(path);
      const hidden = chart === 'lease' && together && !this.#open && state === 'bound';
      if (!hidden || path === selected || follow?.hasActor(path)) lines.push({ kind: 'actor', actor, depth });
      if (path === 'node/leases' && together) {
        const bound = leases.filter((one) => one.state === 'bound').length;
        const text = `${leases.length} leases, ${bound} bound`;
        lines.push({ kind: 'group', open: this.#open, text, depth: depth + 1 });
      }
    }
    return lines;
  }

  /** Sorted only when somebody has come or gone. */
  #sorted(actors: ReadonlyMap<string, ActorShown>): readonly ActorShown[] {
    if (this.#order.length !== actors.size || this.#order.some((path) => !actors.has(path)))
      this.#order = [...actors.keys()]
        .map((path) => [path, path.replaceAll('/', ' ')] as const)
        .sort(([, one], [, other]) => compareNames(one, other))
        .map(([path]) => path);
    return this.#order.flatMap((path) => actors.get(path) ?? []).filter(({ chart }) => chart !== null);
  }

  #fill(line: HTMLLIElement, item: Line): void {
    const [name, state] = [line.children[0] as HTMLElement, line.children[1] as HTMLElement];
    const indent = `${item.depth * 14}px`;
    if (line.style.paddingInlineStart !== indent) line.style.paddingInlineStart = indent;
    if (item.kind === 'group') {
      setText(name, `${item.open ? '▾' : '▸'} ${item.text}`);
      setClass(line, 'group');
      line.setAttribute('aria-expanded', String(item.open));
      return;
    }
    const { path, state: is } = item.actor;
    const { selected, follow } = this.#model;
    setText(name, this.#model.nameOf(path));
    setTitle(name, path);
    if (state.title !== is) {
      const news = state.title !== '';
      setText(state, lastOf(is));
      setTitle(state, is);
      setClass(state, `state is-${mood(is)}`);
      if (news) flash(line);
    }
    line.classList.toggle('followed', follow?.hasActor(path) === true);
    line.setAttribute('aria-selected', String(path === selected));
    line.tabIndex = path === selected ? 0 : -1;
  }

  #chosen(key: string | undefined): void {
    if (key === undefined) return;
    if (key === 'group') this.openLeases();
    else this.#model.select(key);
  }

  /** All leases, or those that are bound in one line again. */
  openLeases(): void {
    this.#open = !this.#open;
    this.draw();
  }

  #move(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    // Else the page's own j and k would take one more step.
    event.stopPropagation();
    this.step(step);
  }

  /** To the actor above or below. */
  step(by: number): void {
    const paths = this.#shown().flatMap((line) => (line.kind === 'actor' ? [line.actor.path] : []));
    const at = paths.indexOf(this.#model.selected);
    const next = paths[Math.min(Math.max(0, at + by), paths.length - 1)];
    if (next === undefined) return;
    this.#model.select(next);
    requestAnimationFrame(() => this.#lines.get(next)?.focus());
  }
}

/** What a state means for who looks: all is well, something goes on, somebody should look. */
export function mood(state: string): 'calm' | 'busy' | 'bad' {
  if (/blocked|stuck|lost|failed|degraded|error/.test(state)) return 'bad';
  if (/^(bound|resting|quiet|watching|running\.serving|inUse\.resting|idle|serving)/.test(state)) return 'calm';
  return 'busy';
}

/** `lease:` ids hold the sign that paths are joined by. */
const depthOf = (path: string): number => path.replace(/lease:.*$/, 'lease').split('/').length - 1;
