/**
 * Chance from a seed: the same seed and label give the same numbers for ever, on any machine.
 *
 * Each part of the world draws from a stream of its own, so that one draw more here does not change what happens there.
 * Source: Mulberry32 (T. Ettinger, public domain): 32 bits of state, enough for schedules, not for secrets.
 */
export class Seeded {
  #state: number;

  constructor(seed: number, label: string) {
    let hash = 0x811c9dc5 ^ seed;
    for (let index = 0; index < label.length; index += 1) hash = Math.imul(hash ^ label.charCodeAt(index), 0x01000193);
    this.#state = hash | 0;
    this.fraction();
  }

  /** Uniform in [0, 1). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(list: readonly [T, ...T[]]): T {
    return list[this.between(0, list.length - 1)] ?? list[0];
  }
}
