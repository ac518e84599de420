/** "Follow this pod": who it is, and why it has its address, or has none. */
import type { Why } from '../../ports/introspection.ts';
import { el, part, setText } from './element.ts';
import type { Model } from './model.ts';
import { ago } from './words.ts';

const ASK_MS = 700;

export class FollowPane {
  readonly #model: Model;
  readonly #input = part('pod') as HTMLInputElement;
  readonly #pods = part('pods') as HTMLDataListElement;
  #askedMs = 0;
  #why: Why | null = null;

  constructor(model: Model) {
    this.#model = model;
    part('follow-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#choose(this.#input.value.trim());
    });
    this.#input.addEventListener('change', () => this.#choose(this.#input.value.trim()));
    this.#input.addEventListener('focus', () => this.#offer());
    part('unfollow').addEventListener('click', () => this.stop());
    model.on(['follow', 'report', 'rows', 'time'], () => this.draw());
  }

  focus(): void {
    this.#input.focus();
    this.#input.select();
  }

  stop(): void {
    this.#input.value = '';
    this.#why = null;
    this.#model.followPod(null);
  }

  draw(): void {
    const { follow } = this.#model;
    part('follow').hidden = follow === null;
    if (follow === null) return;
    setText(part('followed-pod'), follow.pod);
    void this.#ask(follow.pod);
    this.#tell();
  }

  #choose(text: string): void {
    if (text === '') {
      this.stop();
      return;
    }
    const all = this.#known();
    const pod =
      all.find((one) => one === text) ??
      all.find((one) => one.endsWith(`/${text}`)) ??
      all.find((one) => one.includes(text));
    this.#model.followPod(pod ?? (text.includes('/') ? text : `default/${text}`));
    this.#input.blur();
  }

  #known(): readonly string[] {
    const { leases, waiting, refusals = [] } = this.#model.report;
    const bound = leases.map(({ sandbox: { pod } }) => `${pod.namespace}/${pod.name}`);
    return [...new Set([...bound, ...[...waiting, ...refusals].map(({ pod }) => pod)])].sort();
  }

  #offer(): void {
    this.#pods.replaceChildren(...this.#known().map((pod) => el('option', { value: pod })));
  }

  /** What the node says now. The past has no such answer, but what happened is there to be read. */
  async #ask(pod: string): Promise<void> {
    if (this.#model.source?.what === 'simulation') return;
    if (this.#why?.pod === pod && performance.now() - this.#askedMs < ASK_MS) return;
    if (performance.now() - this.#askedMs < ASK_MS / 4) return;
    this.#askedMs = performance.now();
    this.#why = await this.#model.connection.ask<Why>('/api/why', { pod }).catch(() => null);
    this.#tell();
  }

  #tell(): void {
    const { follow, live, report } = this.#model;
    if (follow === null) return;
    const why = this.#why?.pod === follow.pod && (live || this.#model.source?.what === 'bundle') ? this.#why : null;
    const address = report.enis
      .flatMap(({ actor, addresses }) => addresses.map((one) => ({ ...one, actor })))
      .find(({ pod, state }) => pod === follow.pod && state !== 'cooling');
    const waits = report.waiting.find(({ pod }) => pod === follow.pod);
    const now =
      address === undefined
        ? waits === undefined
          ? 'has no address'
          : `waits: ${waits.reason}`
        : `${address.ipv4} on ${address.actor}, ${address.state}`;
    setText(part('follow-answer'), why?.answer ?? `${follow.pod} ${now}`);
    const stages = why?.stages ?? [];
    const longest = Math.max(1, ...stages.map(({ tookMs }) => tookMs));
    part('stages').replaceChildren(
      ...stages.slice(1).map(({ stage, tookMs }) => {
        const bar = el('i');
        bar.style.width = `${Math.max(2, Math.round((60 * tookMs) / longest))}px`;
        return el('li', {}, el('span', {}, stage), bar, el('b', {}, ago(tookMs)));
      }),
      ...(why?.considered ?? []).map((one) => el('li', { class: 'considered' }, consideredText(one))),
    );
  }
}

function consideredText({ what, verdict, why }: Why['considered'][number]): string {
  return `${verdict === 'serves' ? '✓' : '✗'} ${what}: ${why}`;
}
