/**
 * What the actors tell each other, as a sequence diagram: a line for each actor, time going down. Only the rows that can be seen are in the
 * document, so that thousands cost as much as a few.
 */
import { el, part, setText, svg } from './element.ts';
import { lifelinesOf, type Row } from './lifelines.ts';
import type { Model } from './model.ts';
import { ago, clock, fieldsOf, lastOf } from './words.ts';

const ROW_PX = 22;
const TIME_PX = 74;
const LINE_PX_MIN = 58;
/** Rows that decide who has a line: those that are seen, and some around. */
const AROUND = 30;

export class MessagesPane {
  readonly #model: Model;
  readonly #scroll = part('messages');
  readonly #canvas = svg('svg', { class: 'sequence' });
  readonly #heads = part('lifelines');
  #rows: readonly Row[] = [];
  /** Stays at the end as long as nobody scrolls away from it. */
  #atEnd = true;
  #origin: number | null = null;

  constructor(model: Model) {
    this.#model = model;
    this.#scroll.append(this.#canvas);
    this.#scroll.addEventListener('scroll', () => {
      this.#atEnd = this.#scroll.scrollTop + this.#scroll.clientHeight >= this.#scroll.scrollHeight - ROW_PX;
      this.#draw();
    });
    this.#canvas.addEventListener('click', (event) => this.#chosen(event.target as Element));
    new ResizeObserver(() => this.draw()).observe(this.#scroll);
    model.on(['rows', 'follow', 'time'], () => this.draw());
  }

  draw(): void {
    const { rows, follow } = this.#model;
    this.#rows = follow === null ? rows : rows.filter(({ seen }) => follow.has(seen));
    setText(part('messages-title'), follow === null ? 'Messages' : `Messages about ${follow.pod}`);
    part('no-message').hidden = this.#rows.length > 0;
    this.#canvas.setAttribute('height', String(this.#rows.length * ROW_PX + 6));
    if (this.#atEnd || !this.#model.live) this.#scroll.scrollTop = this.#scroll.scrollHeight;
    this.#draw();
  }

  #draw(): void {
    const { scrollTop, clientHeight, clientWidth } = this.#scroll;
    const first = Math.max(0, Math.floor(scrollTop / ROW_PX) - 2);
    const last = Math.min(this.#rows.length, Math.ceil((scrollTop + clientHeight) / ROW_PX) + 2);
    const shown = this.#rows.slice(first, last);
    const { lines, lineOf } = lifelinesOf(this.#rows.slice(Math.max(0, first - AROUND), last + AROUND));
    const step = Math.max(LINE_PX_MIN, (clientWidth - TIME_PX) / Math.max(1, lines.length));
    const width = Math.max(clientWidth, TIME_PX + step * lines.length);
    this.#canvas.setAttribute('width', String(width));
    const xOf = (path: string): number => TIME_PX + step * (lines.indexOf(lineOf(path)) + 0.5);
    this.#heads.replaceChildren(
      ...lines.map((line, index) => {
        const head = el('span', { title: line }, line);
        head.style.left = `${TIME_PX + step * index}px`;
        head.style.width = `${step}px`;
        return head;
      }),
    );
    this.#heads.style.transform = `translateX(${-this.#scroll.scrollLeft}px)`;
    this.#origin = this.#rows[first - 1]?.atMs ?? null;
    const [top, bottom] = [first * ROW_PX, last * ROW_PX];
    this.#canvas.replaceChildren(
      svg('defs', {}, marker()),
      ...lines.map((_, index) => {
        const x = TIME_PX + step * (index + 0.5);
        return svg('line', { class: 'lifeline', x1: x, x2: x, y1: top, y2: bottom + 6 });
      }),
      ...shown.map((row, index) =>
        this.#rowElement(row, shown[index - 1]?.atMs ?? this.#origin, first + index, xOf, step),
      ),
    );
  }

  #rowElement(
    row: Row,
    beforeMs: number | null,
    nth: number,
    xOf: (path: string) => number,
    step: number,
  ): SVGGElement {
    const y = nth * ROW_PX + ROW_PX / 2 + 3;
    const { kind, label, from, to, atMs } = row;
    const mine = row.actor === this.#model.selected || row.sender === this.#model.selected;
    const now = row.seq >= (this.#model.fromSeq ?? Number.POSITIVE_INFINITY);
    const group = svg('g', {
      class: `row of-${kind}${mine ? ' mine' : ''}${now ? ' now' : ''}`,
      'data-actor': row.actor,
    });
    const gapMs = beforeMs === null ? null : atMs - beforeMs;
    const time = gapMs === null ? clock(atMs) : gapMs < 1 ? '' : gapMs < 100_000 ? `+${ago(gapMs)}` : clock(atMs);
    group.append(
      svg('title', {}, `${clock(atMs)}  ${row.seen.kind === 'event' ? fieldsOf(row.seen.event, 400) : label}`),
      svg('rect', { class: 'band', x: 0, y: y - ROW_PX / 2 - 1, width: '100%', height: ROW_PX }),
      svg('text', { class: 'time', x: TIME_PX - 8, y: y + 3 }, time),
    );
    const [x, x2] = [xOf(from), xOf(to)];
    if (kind === 'state') {
      const text = fitted(label, step - 8);
      const width = text.length * 6.3 + 14;
      group.append(
        svg('rect', { class: 'pill', x: x - width / 2, y: y - 8, width, height: 16, rx: 8 }),
        svg('text', { class: 'label', x, y: y + 3.5 }, text),
      );
    } else if (kind === 'own' || x === x2) {
      group.append(
        svg('circle', { class: 'spot', cx: x, cy: y, r: 3 }),
        svg('text', { class: 'label beside', x: x + 8, y: y + 3.5 }, label),
      );
    } else {
      const middle = (x + x2) / 2;
      group.append(
        svg('line', {
          class: 'told',
          x1: x,
          x2: x2 > x ? x2 - 1 : x2 + 1,
          y1: y + 5,
          y2: y + 5,
          'marker-end': 'url(#told)',
        }),
        svg('text', { class: 'label', x: middle, y: y + 1 }, label),
      );
    }
    return group;
  }

  #chosen(target: Element): void {
    const { actor } = (target.closest('.row') as SVGGElement | null)?.dataset ?? {};
    if (actor !== undefined) this.#model.select(actor);
  }
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
