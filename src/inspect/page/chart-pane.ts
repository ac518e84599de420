/** The chart of the selected actor, with the state it is in, and each transition as it is taken. */
import type { PlacedArrow, PlacedChart, PlacedState, Point, TextLine } from '../../charts/placed-chart.ts';
import { el, part, setClass, setText, svg } from './element.ts';
import type { Row } from './lifelines.ts';
import { activePaths, litArrows } from './lit-arrows.ts';
import type { Model } from './model.ts';
import { mood } from './tree-pane.ts';

const LIT_MS = 1_600;
const RESTLESS_MS = 3_000;
const CORNER_PX = 6;
const ZOOM_MIN = 0.3;
const ZOOM_MAX = 2;
/** Smaller than this nobody reads it: then it is scrolled instead. */
const READABLE = 0.78;

type Drawn = {
  readonly placed: PlacedChart;
  readonly root: SVGSVGElement;
  readonly states: ReadonlyMap<string, SVGGElement>;
  readonly arrows: readonly SVGGElement[];
};

export class ChartPane {
  readonly #model: Model;
  readonly #place = part('chart');
  #drawn: Drawn | null = null;
  #zoom: number | null = null;
  /** Told by the browser when it changes: to ask for it would have the page laid out in the middle of a draw. */
  #view = { width: 0, height: 0, left: 0, top: 0 };
  #revealedMs = 0;
  #actor = '';
  #state: string | null = null;
  #lastSeq = 0;
  /** Of the charts without a node: which is shown. */
  #alone = 'node';

  constructor(model: Model) {
    this.#model = model;
    model.on(['charts', 'selection', 'report', 'rows', 'time', 'source'], () => this.draw());
    part('zoom-in').addEventListener('click', () => this.zoom(1.2));
    part('zoom-out').addEventListener('click', () => this.zoom(1 / 1.2));
    part('zoom-fit').addEventListener('click', () => this.fit());
    part('chart-ids').addEventListener('click', (event) => {
      const { id } = (event.target as HTMLElement).dataset;
      if (id === undefined) return;
      this.#alone = id;
      this.draw();
    });
    new ResizeObserver(([entry]) => {
      const { width = 0, height = 0 } = entry?.contentRect ?? {};
      this.#view = { ...this.#view, width, height };
      this.#sized();
    }).observe(this.#place);
    this.#place.addEventListener('scroll', () => this.#scrolled(), { passive: true });
  }

  draw(): void {
    const { charts, selected, actors, source } = this.#model;
    const actor = actors.get(selected);
    const without = source?.what === 'charts';
    const id = without ? this.#alone : (actor?.chart ?? this.#drawn?.placed.id ?? '');
    const told = charts.get(id);
    setText(
      part('chart-title'),
      without ? id : `${this.#model.nameOf(selected)}${actor === undefined ? ' is not there' : ''}`,
    );
    setText(part('chart-state'), actor?.state ?? '');
    setClass(part('chart-state'), `state is-${mood(actor?.state ?? '')}`);
    this.#ids(without);
    if (told === undefined) return;
    if (this.#drawn?.placed !== told.placed) this.#show(told.placed);
    const news = this.#news(selected);
    if (this.#actor !== selected) {
      this.#actor = selected;
      this.#state = null;
      for (const arrow of this.#drawn?.arrows ?? []) arrow.classList.remove('lit');
    }
    this.#activate(actor?.state ?? null);
    this.#light(news);
  }

  zoom(by: number): void {
    this.#zoom = Math.min(Math.max(ZOOM_MIN, this.#scale() * by), ZOOM_MAX);
    this.#sized();
    this.#reveal('auto');
  }

  /** All of it; again: as large as it can be read. */
  fit(): void {
    const whole = this.#whole();
    this.#zoom = this.#zoom === whole ? null : whole;
    this.#sized();
    this.#reveal('auto');
  }

  #ids(shown: boolean): void {
    const place = part('chart-ids');
    place.hidden = !shown;
    if (!shown) return;
    const ids = [...this.#model.charts.keys()];
    if (place.childElementCount !== ids.length)
      place.replaceChildren(
        ...ids.map((id) => {
          const button = el('button', { role: 'tab' }, id);
          button.dataset.id = id;
          return button;
        }),
      );
    for (const button of place.children)
      button.setAttribute('aria-selected', String(button.textContent === this.#alone));
  }

  /** Rows of this actor that have come since. */
  #news(actor: string): readonly Row[] {
    const { rows } = this.#model;
    const own = rows.filter((row) => row.actor === actor);
    const { fromSeq } = this.#model;
    if (fromSeq !== null) return own.filter(({ seq }) => seq >= fromSeq);
    const fresh = own.filter(({ seq }) => seq > this.#lastSeq);
    this.#lastSeq = rows.at(-1)?.seq ?? this.#lastSeq;
    return fresh;
  }

  #activate(state: string | null): void {
    if (this.#drawn === null || this.#state === state) return;
    this.#state = state;
    const active = activePaths(state);
    for (const [path, element] of this.#drawn.states)
      element.classList.toggle('active', path !== '' && active.has(path));
    this.#reveal('smooth');
  }

  #light(news: readonly Row[]): void {
    const drawn = this.#drawn;
    if (drawn === null) return;
    const live = this.#model.live;
    if (!live) for (const arrow of drawn.arrows) arrow.classList.remove('lit');
    if (news.length === 0) return;
    let event = '';
    for (const row of news) {
      if (row.kind !== 'state') event = row.seen.kind === 'event' ? row.seen.event.type : '';
      else
        for (const index of litArrows(drawn.placed.arrows, row.was, row.label, event)) {
          const arrow = drawn.arrows[index];
          arrow?.classList.add('lit');
          if (live) setTimeout(() => arrow?.classList.remove('lit'), LIT_MS);
        }
    }
  }

  #show(placed: PlacedChart): void {
    const states = new Map(placed.states.map((state) => [state.path, stateElement(state)]));
    const arrows = placed.arrows.map(arrowElement);
    const root = svg(
      'svg',
      {
        class: 'chart',
        viewBox: `0 0 ${placed.width} ${placed.height}`,
        role: 'img',
        'aria-label': `the statechart ${placed.id}`,
      },
      svg('defs', {}, tip('tip'), tip('tip-lit')),
      ...states.values(),
      ...placed.initials.flatMap(({ x, y, radius, points }) => [
        svg('circle', { class: 'dot', cx: x, cy: y, r: radius }),
        svg('path', { class: 'begins', d: pathOf(points), 'marker-end': 'url(#tip)' }),
      ]),
      ...arrows,
    );
    this.#place.replaceChildren(root);
    this.#drawn = { placed, root, states, arrows };
    this.#state = null;
    this.#zoom = null;
    this.#sized();
  }

  #whole(): number {
    const { width = 1, height = 1 } = this.#drawn?.placed ?? {};
    return Math.max(ZOOM_MIN / 2, Math.min((this.#view.width - 2) / width, (this.#view.height - 6) / height, 1));
  }

  #scale(): number {
    return this.#zoom ?? Math.max(this.#whole(), READABLE);
  }

  #sized(): void {
    if (this.#drawn === null) return;
    const { root, placed } = this.#drawn;
    const scale = this.#scale();
    root.setAttribute('width', String(Math.round(placed.width * scale)));
    root.setAttribute('height', String(Math.round(placed.height * scale)));
  }

  /** Scrolls to the state that the actor is in, unless it can be seen. */
  #reveal(behavior: ScrollBehavior): void {
    const { placed } = this.#drawn ?? {};
    const box = placed?.states.find(({ path }) => path === (this.#state ?? placed.states[0]?.path));
    if (box === undefined) return;
    const scale = this.#scale();
    const { width, height, left: scrollLeft, top: scrollTop } = this.#view;
    const [x, y] = [box.x * scale - scrollLeft, box.y * scale - scrollTop];
    const seen = x >= 0 && y >= 0 && x + box.width * scale <= width && y + box.height * scale <= height;
    if (seen && behavior === 'smooth') return;
    const left = box.x * scale - Math.max(12, (width - box.width * scale) / 2);
    const top = box.y * scale - Math.max(12, (height - box.height * scale) / 2);
    // An actor that changes all the time would keep the picture moving, and each step of it is painted.
    const restless = performance.now() - this.#revealedMs < RESTLESS_MS;
    this.#revealedMs = performance.now();
    this.#place.scrollTo({ left, top, behavior: restless ? 'auto' : behavior });
  }

  #scrolled(): void {
    const { scrollLeft: left, scrollTop: top } = this.#place;
    this.#view = { ...this.#view, left, top };
  }
}

function stateElement({ path, type, tags, x, y, width, height, lines }: PlacedState): SVGGElement {
  const corners = type === 'final' ? 14 : 7;
  const kind = path === '' ? 'whole' : type;
  return svg(
    'g',
    { class: `state ${kind}${tags.includes('alarm') ? ' alarm' : ''}`, 'data-path': path },
    svg('rect', { x, y, width, height, rx: corners }),
    ...(type === 'final'
      ? [svg('rect', { class: 'inner', x: x + 3, y: y + 3, width: width - 6, height: height - 6, rx: 11 })]
      : []),
    ...lines.map(textElement),
  );
}

function arrowElement({ points, label, from, to, inward }: PlacedArrow): SVGGElement {
  const [begin] = points;
  return svg(
    'g',
    { class: 'arrow', 'data-from': from, 'data-to': to },
    svg('path', { class: 'way', d: pathOf(points) }),
    ...(inward && begin !== undefined ? [svg('path', { d: `M${begin.x - 8} ${begin.y}h16` })] : []),
    ...(label === null
      ? []
      : [
          svg('rect', { class: 'behind', x: label.x, y: label.y, width: label.width, height: label.height, rx: 3 }),
          ...label.lines.map(textElement),
        ]),
  );
}

function textElement({ kind, text, at }: TextLine): SVGTextElement {
  return svg('text', { class: kind, x: at.x, y: at.y }, text);
}

function tip(id: string): SVGMarkerElement {
  const box = { viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' };
  return svg('marker', { id, ...box }, svg('path', { class: id, d: 'M0 0 8 4 0 8z' }));
}

/** Corners are rounded. */
function pathOf(points: readonly Point[]): string {
  return points
    .map((point, index) => {
      const [before, after] = [points[index - 1], points[index + 1]];
      if (before === undefined) return `M${point.x} ${point.y}`;
      if (after === undefined) return `L${point.x} ${point.y}`;
      const [one, other] = [toward(point, before), toward(point, after)];
      return `L${one.x} ${one.y}Q${point.x} ${point.y} ${other.x} ${other.y}`;
    })
    .join('');
}

function toward(from: Point, to: Point): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const part = Math.min(CORNER_PX, length / 2) / length;
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part };
}
