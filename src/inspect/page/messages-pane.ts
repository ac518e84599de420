/**
 * What the actors tell each other, as a sequence diagram: a line for each actor, time going down. Only the rows that can be seen are in the
 * document, so that thousands cost as much as a few.
 */
import { el, part, setText, svg } from './element.ts';
import { lifelinesOf, type Row } from './lifelines.ts';
import type { Model } from './model.ts';
import { ago, clock, fieldsOf, lastOf } from './words.ts';

const ROW_PX = 22;
const TIME_PX = 86;
const LINE_PX_MIN = 54;
const LETTER_PX = 6.7;
/** Rows that decide who has a line: those that are seen, and some around. */
const AROUND = 30;

/** A row as it was drawn, and what it was drawn from. */
type Drawn = { readonly element: SVGGElement; readonly from: string };

export class MessagesPane {
  readonly #model: Model;
  readonly #scroll = part('messages');
  readonly #lines = svg('g');
  readonly #shown = svg('g');
  readonly #canvas = svg('svg', { class: 'sequence' }, svg('defs', {}, marker()), this.#lines, this.#shown);
  readonly #heads = part('lifelines');
  #rows: readonly Row[] = [];
  #drawn = new Map<string, Drawn>();
  /** Told by the browser when it changes: to ask for it would have the page laid out in the middle of a draw. */
  #size = { width: 0, height: 0 };
  #top = 0;
  /** Stays at the end as long as nobody scrolls away from it. */
  #atEnd = true;
  #headed = '';

  constructor(model: Model) {
    this.#model = model;
    this.#scroll.append(this.#canvas);
    this.#scroll.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    this.#canvas.addEventListener('click', (event) => this.#chosen(event.target as Element));
    new ResizeObserver(([entry]) => {
      const { width = 0, height = 0 } = entry?.contentRect ?? {};
      this.#size = { width, height };
      this.draw();
    }).observe(this.#scroll);
    model.on(['rows', 'follow', 'time', 'selection'], () => this.draw());
  }

  draw(): void {
    const { rows, follow } = this.#model;
    this.#rows = follow === null ? rows : rows.filter(({ seen }) => follow.has(seen));
    setText(part('messages-title'), follow === null ? 'Messages' : `Messages about ${follow.pod}`);
    part('no-message').hidden = this.#rows.length > 0;
    this.#scroll.hidden = this.#rows.length === 0;
    if (this.#rows.length === 0) setText(part('no-message'), this.#silence());
    const height = this.#rows.length * ROW_PX + 6;
    if (this.#canvas.getAttribute('height') !== String(height)) this.#canvas.setAttribute('height', String(height));
    if (this.#atEnd || !this.#model.live) {
      const top = Math.max(0, height - this.#size.height);
      if (top !== this.#top) this.#scroll.scrollTop = top;
      this.#top = top;
    }
    this.#draw();
  }

  #silence(): string {
    const { live, source } = this.#model;
    if (!live) return 'nothing had happened yet';
    const before = source?.what === 'node' ? '; space and ← show what was before' : '';
    return `nothing has happened since this page was opened${before}`;
  }

  #scrolled(): void {
    const { scrollTop, scrollLeft } = this.#scroll;
    this.#heads.style.transform = `translateX(${-scrollLeft}px)`;
    // Our own doing: it is drawn already.
    if (Math.abs(scrollTop - this.#top) < 1) return;
    this.#top = scrollTop;
    this.#atEnd = scrollTop + this.#size.height >= this.#rows.length * ROW_PX - ROW_PX;
    this.#draw();
  }

  #draw(): void {
    const { width: clientWidth, height: clientHeight } = this.#size;
    const first = Math.max(0, Math.floor(this.#top / ROW_PX) - 2);
    const last = Math.min(this.#rows.length, Math.ceil((this.#top + clientHeight) / ROW_PX) + 2);
    const most = Math.max(1, Math.floor((clientWidth - TIME_PX) / LINE_PX_MIN));
    const { lines, lineOf, pathOf } = lifelinesOf(this.#rows.slice(Math.max(0, first - AROUND), last + AROUND), most);
    const step = Math.max(LINE_PX_MIN, (clientWidth - TIME_PX) / Math.max(1, lines.length));
    const width = Math.max(clientWidth, TIME_PX + step * lines.length);
    if (this.#canvas.getAttribute('width') !== String(width)) this.#canvas.setAttribute('width', String(width));
    const names = lines.map((line) => {
      const path = pathOf(line);
      return [path === null ? line : this.#model.nameOf(path), path ?? line] as const;
    });
    this.#drawHeads(names, step);
    this.#drawLines(lines.length, step, first * ROW_PX, last * ROW_PX + 6);
    const xOf = (path: string): number => TIME_PX + step * (lines.indexOf(lineOf(path)) + 0.5);
    const { selected } = this.#model;
    const fromSeq = this.#model.fromSeq ?? Number.POSITIVE_INFINITY;
    const drawn = new Map<string, Drawn>();
    for (let nth = first; nth < last; nth += 1) {
      const row = this.#rows[nth] as Row;
      const beforeMs = this.#rows[nth - 1]?.atMs ?? null;
      const marks = `${row.actor === selected || row.sender === selected ? ' mine' : ''}${row.seq >= fromSeq ? ' now' : ''}`;
      const [x, x2] = [xOf(row.from), xOf(row.to)];
      const key = `${row.seq} ${row.kind}`;
      const from = `${nth} ${x} ${x2} ${step} ${beforeMs} ${row.atMs}${marks}`;
      const known = this.#drawn.get(key);
      drawn.set(
        key,
        known?.from === from ? known : { element: rowElement(row, { nth, beforeMs, x, x2, step, width, marks }), from },
      );
    }
    // Those that are there already stay untouched.
    for (const [key, { element }] of this.#drawn) if (drawn.get(key)?.element !== element) element.remove();
    let next: Element | null = this.#shown.firstElementChild;
    for (const { element } of drawn.values())
      if (element === next) next = element.nextElementSibling;
      else this.#shown.insertBefore(element, next);
    this.#drawn = drawn;
  }

  #drawHeads(names: readonly (readonly [name: string, title: string])[], step: number): void {
    const headed = `${step} ${names.join(' ')}`;
    if (this.#headed === headed) return;
    this.#headed = headed;
    this.#heads.replaceChildren(
      ...names.map(([name, title], index) => {
        const head = el('span', { title }, name);
        head.style.left = `${TIME_PX + step * index}px`;
        head.style.width = `${step}px`;
        return head;
      }),
    );
  }

  #drawLines(count: number, step: number, top: number, bottom: number): void {
    while (this.#lines.childElementCount > count) this.#lines.lastElementChild?.remove();
    while (this.#lines.childElementCount < count) this.#lines.append(svg('line', { class: 'lifeline' }));
    for (const [index, line] of [...this.#lines.children].entries()) {
      const x = TIME_PX + step * (index + 0.5);
      for (const [name, value] of [
        ['x1', x],
        ['x2', x],
        ['y1', top],
        ['y2', bottom],
      ] as const)
        if (line.getAttribute(name) !== String(value)) line.setAttribute(name, String(value));
    }
  }

  #chosen(target: Element): void {
    const { actor } = (target.closest('.row') as SVGGElement | null)?.dataset ?? {};
    if (actor !== undefined) this.#model.select(actor);
  }
}

type Place = {
  readonly nth: number;
  readonly beforeMs: number | null;
  readonly x: number;
  readonly x2: number;
  readonly step: number;
  /** Of the whole diagram. */
  readonly width: number;
  readonly marks: string;
};

function rowElement(row: Row, { nth, beforeMs, x, x2, step, width: most, marks }: Place): SVGGElement {
  const y = nth * ROW_PX + ROW_PX / 2 + 3;
  const { kind, label, atMs, seen } = row;
  const group = svg('g', { class: `row of-${kind}${marks}`, 'data-actor': row.actor });
  const gapMs = beforeMs === null ? null : atMs - beforeMs;
  const time = gapMs === null ? clock(atMs) : gapMs < 1 ? '' : gapMs < 100_000 ? `+${ago(gapMs)}` : clock(atMs);
  group.append(
    svg('title', {}, `${clock(atMs)}  ${seen.kind === 'event' ? fieldsOf(seen.event, 400) : label}`),
    svg('rect', { class: 'band', x: 0, y: y - ROW_PX / 2 - 1, width: '100%', height: ROW_PX }),
    ...(time === '' ? [] : [svg('text', { class: 'time', x: TIME_PX - 8, y: y + 3 }, time)]),
  );
  if (kind === 'state') {
    // Nothing else is on its row.
    const text = fitted(label, step * 1.7);
    const width = text.length * 6.3 + 14;
    const middle = Math.min(x, most - width / 2 - 2);
    group.append(
      svg('rect', { class: 'pill', x: middle - width / 2, y: y - 8, width, height: 16, rx: 8 }),
      svg('text', { class: 'label', x: middle, y: y + 3.5 }, text),
    );
  } else if (kind === 'own' || x === x2) {
    const left = x + 8 + label.length * LETTER_PX > most;
    group.append(
      svg('circle', { class: 'spot', cx: x, cy: y, r: 3 }),
      svg('text', { class: `label beside${left ? ' left' : ''}`, x: left ? x - 8 : x + 8, y: y + 3.5 }, label),
    );
  } else {
    const to = x2 > x ? x2 - 1 : x2 + 1;
    group.append(
      svg('line', { class: 'told', x1: x, x2: to, y1: y + 5, y2: y + 5, 'marker-end': 'url(#told)' }),
      svg('text', { class: 'label', x: (x + x2) / 2, y: y + 1 }, label),
    );
  }
  return group;
}

function fitted(text: string, width: number): string {
  const most = Math.max(6, Math.floor((width - 14) / 6.3));
  const whole = text.length <= most ? text : lastOf(text);
  return whole.length <= most ? whole : `${whole.slice(0, most - 1)}…`;
}

function marker(): SVGMarkerElement {
  const box = { viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: 'auto' };
  return svg('marker', { id: 'told', ...box }, svg('path', { d: 'M0 0 8 4 0 8z' }));
}
