/** The time line: every input of the node's life as a tick; where we are; and the ways to move. */
import { el, part, setText } from './element.ts';
import type { Model } from './model.ts';
import { clock, eventName } from './words.ts';

const PLAY_MS = 180;

export class TimeBar {
  readonly #model: Model;
  readonly #slider = part('slider') as HTMLInputElement;
  readonly #ticks = part('ticks') as HTMLCanvasElement;
  readonly #tapes = part('tapes') as HTMLSelectElement;
  #playing: number | null = null;

  constructor(model: Model) {
    this.#model = model;
    this.#slider.addEventListener('input', () => void model.travelTo(Number(this.#slider.value)));
    part('pause').addEventListener('click', () => this.pauseOrGo());
    part('to-start').addEventListener('click', () => void model.travelTo(0));
    part('step-back').addEventListener('click', () => this.step(-1));
    part('step-on').addEventListener('click', () => this.step(1));
    part('to-end').addEventListener('click', () => this.end());
    part('where').addEventListener('click', () => this.selectActor());
    part('play').addEventListener('click', () => this.play());
    this.#tapes.addEventListener('change', () => {
      model.tape = this.#tapes.selectedIndex;
      void model.readPast().then(() => model.travelTo(model.marks.length));
    });
    new ResizeObserver(() => this.draw()).observe(this.#ticks);
    model.on(['time', 'source'], () => this.draw());
  }

  pauseOrGo(): void {
    this.#stop();
    if (this.#model.live) void this.#model.pause();
    else this.#model.goLive();
  }

  step(by: number): void {
    this.#stop();
    void this.#by(by);
  }

  end(): void {
    this.#stop();
    if (this.#model.source?.what === 'node') this.#model.goLive();
    else void this.#model.travelTo(this.#model.marks.length);
  }

  play(): void {
    if (this.#playing !== null) {
      this.#stop();
      return;
    }
    this.#playing = window.setInterval(() => {
      if (this.#model.live || this.#model.index >= this.#model.marks.length) this.#stop();
      else void this.#by(1);
    }, PLAY_MS);
    if (this.#model.live || this.#model.index >= this.#model.marks.length) void this.#model.travelTo(0);
    this.draw();
  }

  /** The one that the input reached. */
  selectActor(): void {
    const [, actor] = this.#model.marks[this.#model.index - 1] ?? [];
    const path = [...this.#model.actors.keys()].find((one) => one === actor || one.endsWith(`/${actor}`));
    if (!this.#model.live && path !== undefined) this.#model.select(path);
  }

  async #by(inputs: number): Promise<void> {
    if (this.#model.live) await this.#model.pause();
    await this.#model.travelTo(this.#model.index + inputs);
  }

  #stop(): void {
    if (this.#playing !== null) window.clearInterval(this.#playing);
    this.#playing = null;
    this.draw();
  }

  draw(): void {
    const { live, index, marks, noPast, source } = this.#model;
    const node = source?.what === 'node';
    document.body.classList.toggle('past', !live);
    setText(part('pause'), live ? 'pause' : '● go live');
    part('pause').hidden = !node;
    setText(part('play'), this.#playing === null ? '▶' : '■');
    this.#slider.max = String(Math.max(1, marks.length));
    if (document.activeElement !== this.#slider || this.#slider.value !== String(index))
      this.#slider.value = String(index);
    const [atMs = 0, actor = '', event = ''] = marks[index - 1] ?? [];
    const where =
      index === 0
        ? 'before the first input'
        : `input ${index} of ${marks.length}: ${clock(atMs)}  ${actor} ← ${eventName(event)}`;
    setText(part('where'), noPast !== null ? `no time travel: ${noPast}` : live ? 'live' : where);
    this.#showTapes();
    this.#drawTicks();
  }

  #showTapes(): void {
    const tapes = this.#model.source?.tapes ?? [];
    this.#tapes.hidden = tapes.length < 2;
    if (this.#tapes.length !== tapes.length)
      this.#tapes.replaceChildren(...tapes.map((name) => el('option', {}, name)));
    if (this.#tapes.selectedIndex !== this.#model.tape) this.#tapes.selectedIndex = this.#model.tape;
  }

  /** By their order and not by their instants: what is dense in time is what one wants to look into. */
  #drawTicks(): void {
    const { clientWidth, clientHeight } = this.#ticks;
    const ratio = window.devicePixelRatio;
    this.#ticks.width = clientWidth * ratio;
    this.#ticks.height = clientHeight * ratio;
    const context = this.#ticks.getContext('2d');
    if (context === null) return;
    const { marks, index, live } = this.#model;
    const style = getComputedStyle(this.#ticks);
    context.scale(ratio, ratio);
    const step = clientWidth / Math.max(1, marks.length);
    for (const [nth, [, , event]] of marks.entries()) {
      const asked = event === 'allocate' || event === 'release';
      const failed = event.startsWith('xstate.error');
      context.globalAlpha = live || nth < index ? 1 : 0.35;
      context.fillStyle = failed ? style.textDecorationColor : asked ? style.caretColor : style.color;
      const tall = asked || failed ? 1 : 0.45;
      context.fillRect(nth * step, clientHeight * (1 - tall), Math.max(1, Math.min(step - 1, 3)), clientHeight * tall);
    }
  }
}
