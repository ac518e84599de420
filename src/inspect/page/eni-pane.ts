/** Every ENI as a row of its addresses, and the pods that have none. */
import type { AddressState } from '../../core/address-book.ts';
import type { EniReport, NodeReport } from '../../ports/introspection.ts';
import { el, flash, Keyed, part, setClass, setText, setTitle } from './element.ts';
import type { Model } from './model.ts';
import { mood } from './tree-pane.ts';
import { ADDRESS_STATES, ago, compareNames } from './words.ts';

type Cell = EniReport['addresses'][number] | { readonly room: number };
type EniRow = { readonly element: HTMLElement; readonly cells: Keyed<Cell, HTMLButtonElement>; drawn: string };
type Pending = { readonly pod: string; readonly text: string; readonly refused: boolean };

export class EniPane {
  readonly #model: Model;
  readonly #rows = new Map<Element, EniRow>();
  readonly #enis: Keyed<EniReport, HTMLElement>;
  readonly #pending: Keyed<Pending, HTMLLIElement>;
  readonly #counts = new Map<AddressState, HTMLElement>();

  constructor(model: Model) {
    this.#model = model;
    this.#enis = new Keyed<EniReport, HTMLElement>(
      part('enis'),
      () => this.#made(),
      (element, eni) => this.#fill(element, eni),
    );
    this.#pending = new Keyed<Pending, HTMLLIElement>(
      part('pending'),
      () => el('li', {}, el('button', { class: 'pod' }), el('span')),
      (line, { pod, text, refused }) => {
        setText(line.children[0] as Element, pod);
        setText(line.children[1] as Element, text);
        setClass(line, refused ? 'refused' : 'waits');
      },
    );
    this.#legend();
    part('enis').addEventListener('click', (event) => this.#chosen(event.target as Element));
    part('pending').addEventListener('click', (event) => {
      const pod = (event.target as Element).closest('button')?.textContent;
      if (pod) model.followPod(pod);
    });
    model.on(['report', 'follow', 'selection', 'time'], () => this.draw());
  }

  draw(): void {
    const { report } = this.#model;
    this.#enis.show(report.enis, ({ actor }) => actor);
    this.#pending.show(pendingOf(report, this.#model.atMs(Date.now())), ({ pod, refused }) => `${refused} ${pod}`);
    for (const [state, count] of this.#counts) setText(count, String(countOf(report, state)));
    part('no-eni').hidden = report.enis.length > 0;
  }

  #made(): HTMLElement {
    const cells = el('div', { class: 'cells' });
    const head = el(
      'button',
      { class: 'eni-head' },
      el('b'),
      el('span', { class: 'state' }),
      el('span', { class: 'facts' }),
    );
    const element = el('section', { class: 'eni' }, head, el('p', { class: 'trouble' }), cells);
    const keyed = new Keyed<Cell, HTMLButtonElement>(cells, () => el('button', { class: 'cell' }), fillCell);
    this.#rows.set(element, { element, cells: keyed, drawn: '' });
    return element;
  }

  #fill(element: HTMLElement, eni: EniReport): void {
    const { actor, state, eniId, device, vSwitchId, waiting, lastFailure, heldUntilMs = null, addresses } = eni;
    const [head, trouble] = [element.children[0] as HTMLElement, element.children[1] as HTMLElement];
    element.dataset.actor = actor;
    setText(head.children[0] as Element, actor);
    setText(head.children[1] as Element, state);
    setClass(head.children[1] as Element, `state is-${mood(state)}`);
    const facts = [eniId, device, vSwitchId, waiting === 0 ? null : `${waiting} wait for its next call`];
    setText(head.children[2] as Element, facts.filter((one) => one !== null).join(' · '));
    const nowMs = this.#model.atMs(Date.now());
    const held = heldUntilMs === null ? [] : [`not asked for more for ${ago(heldUntilMs - nowMs)}`];
    setText(trouble, [...held, ...(lastFailure === null ? [] : [lastFailure])].join(' · '));
    trouble.hidden = trouble.textContent === '';
    setClass(element, `eni${this.#model.selected.endsWith(`/${actor}`) ? ' selected' : ''}`);
    const most = this.#model.report.limits?.ipsPerEni ?? addresses.length;
    const row = this.#rows.get(element);
    const followed = this.#model.follow?.pod ?? null;
    const drawn = `${most} ${addresses.some(({ pod }) => pod === followed) ? followed : ''} ${JSON.stringify(addresses)}`;
    // Most ENIs of a large node are as they were.
    if (row === undefined || row.drawn === drawn) return;
    row.drawn = drawn;
    const room = Array.from({ length: Math.max(0, most - addresses.length) }, (_, nth) => ({ room: nth }));
    const sorted = [...addresses].sort((one, other) => compareNames(one.ipv4, other.ipv4));
    row.cells.show([...sorted, ...room], (cell) => ('room' in cell ? `room ${cell.room}` : cell.ipv4));
    for (const cell of element.querySelectorAll<HTMLElement>('.cell'))
      cell.classList.toggle('followed', followed !== null && cell.dataset.pod === followed);
  }

  #chosen(target: Element): void {
    const { pod } = target.closest<HTMLElement>('.cell')?.dataset ?? {};
    if (pod) {
      this.#model.followPod(pod);
      return;
    }
    const { actor } = target.closest<HTMLElement>('.eni')?.dataset ?? {};
    if (actor !== undefined) this.#model.select(`node/eniFactory/${actor}`);
  }

  #legend(): void {
    for (const [state, { glyph, means }] of Object.entries(ADDRESS_STATES)) {
      const count = el('b', {}, '0');
      this.#counts.set(state as AddressState, count);
      part('legend').append(
        el('li', { title: means }, el('span', { class: `swatch ${state}` }, glyph), count, el('span', {}, state)),
      );
    }
  }
}

function fillCell(cell: HTMLButtonElement, item: Cell): void {
  if ('room' in item) {
    setClass(cell, 'cell room');
    cell.tabIndex = -1;
    setTitle(cell, 'room for one more address');
    return;
  }
  const { ipv4, ipv6, state, pod } = item;
  const before = cell.dataset.state;
  setText(cell, `${ADDRESS_STATES[state].glyph} ${ipv4.slice(ipv4.indexOf('.', ipv4.indexOf('.') + 1))}`);
  cell.dataset.pod = pod ?? '';
  cell.dataset.ipv4 = ipv4;
  setTitle(cell, [ipv4, ipv6, state, pod].filter((one) => one !== null).join('\n'));
  if (before === state) return;
  cell.dataset.state = state;
  setClass(cell, `cell ${state}`);
  if (before !== undefined) flash(cell);
}

function pendingOf({ waiting, refusals = [] }: NodeReport, nowMs: number): readonly Pending[] {
  return [
    ...waiting.map(({ pod, sinceMs, reason }) => ({
      pod,
      text: `waits for ${ago(nowMs - sinceMs)}: ${reason}`,
      refused: false,
    })),
    ...refusals.map(({ pod, atMs, detail }) => ({
      pod,
      text: `refused ${ago(nowMs - atMs)} ago: ${detail}`,
      refused: true,
    })),
  ];
}

const countOf = ({ pool, enis }: NodeReport, state: AddressState): number =>
  pool?.counts[state] ?? enis.flatMap(({ addresses }) => addresses).filter((one) => one.state === state).length;
