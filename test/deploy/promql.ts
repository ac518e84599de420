/**
 * Reads a PromQL expression, strictly as far as rules and panels here go: operators, aggregations with `by`, functions with the number of
 * arguments that they have, selectors with matchers and ranges. What it does not know it refuses.
 * Source: prometheus.io/docs/prometheus/latest/querying (basics, operators, functions).
 */
export type Selector = {
  readonly name: string;
  readonly matchers: readonly { readonly label: string; readonly op: string; readonly value: string }[];
};
/** `labels`: what the result is grouped by. */
export type Read = { readonly selectors: readonly Selector[]; readonly labels: readonly string[] };

const AGGREGATIONS = ['sum', 'max', 'min', 'avg', 'count'];
/** Number of arguments, and whether the last one is a range. */
const FUNCTIONS: Readonly<Record<string, readonly [count: number, range: boolean]>> = {
  rate: [1, true],
  increase: [1, true],
  histogram_quantile: [2, false],
  time: [0, false],
};
/** From the weakest. */
const OPERATORS = [['or'], ['and', 'unless'], ['==', '!=', '>', '<', '>=', '<='], ['+', '-'], ['*', '/']];
const TOKEN = /\s*(?:([a-zA-Z_:][\w:]*)|(\d+(?:\.\d+)?)|("(?:[^"\\]|\\.)*")|(=~|!~|==|!=|>=|<=|[-+*/><=(){}[\],]))/y;

/** Throws Error with the place where it stops making sense. */
export function readPromQl(text: string): Read {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (text.slice(TOKEN.lastIndex).trim() !== '') {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (found === null) throw new Error(`unreadable at “${text.slice(at, at + 20)}”`);
    // A duration is a number and its unit.
    tokens.push(found[0].trim());
  }
  const reader = new Reader(tokens);
  if (reader.binary(0)) throw new Error('a range is no result');
  reader.end();
  return { selectors: reader.selectors, labels: reader.labels };
}

class Reader {
  readonly selectors: Selector[] = [];
  readonly labels: string[] = [];
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  end(): void {
    if (this.#at < this.#tokens.length) throw new Error(`what follows does not belong: ${this.#rest()}`);
  }

  /** Whether what was read is a range. */
  binary(level: number): boolean {
    const operators = OPERATORS[level];
    if (operators === undefined) return this.#primary();
    let range = this.binary(level + 1);
    while (operators.includes(this.#peek())) {
      this.#next();
      if (range || this.binary(level + 1)) throw new Error(`an operator takes no range, before ${this.#rest()}`);
      range = false;
    }
    return range;
  }

  #primary(): boolean {
    const token = this.#next();
    if (/^\d/.test(token)) return false;
    if (token === '(') {
      const range = this.binary(0);
      this.#expect(')');
      return range;
    }
    if (!/^[a-zA-Z_]/.test(token)) throw new Error(`not “${token}”, before ${this.#rest()}`);
    if (AGGREGATIONS.includes(token)) return this.#aggregation();
    if (this.#peek() === '(') return this.#call(token);
    return this.#selector(token);
  }

  #aggregation(): boolean {
    if (this.#peek() === 'by') {
      this.#next();
      this.#expect('(');
      this.labels.push(this.#next());
      while (this.#peek() === ',') {
        this.#next();
        this.labels.push(this.#next());
      }
      this.#expect(')');
    }
    this.#expect('(');
    if (this.binary(0)) throw new Error('an aggregation takes no range');
    this.#expect(')');
    return false;
  }

  #call(name: string): boolean {
    const [count, range] = FUNCTIONS[name] ?? [];
    if (count === undefined) throw new Error(`no function ${name}`);
    this.#expect('(');
    for (let nth = 1; nth <= count; nth += 1) {
      if (nth > 1) this.#expect(',');
      if (this.binary(0) !== (range && nth === count))
        throw new Error(`${name}: a range where none belongs, or none where one does`);
    }
    this.#expect(')');
    return false;
  }

  #selector(name: string): boolean {
    const matchers: { label: string; op: string; value: string }[] = [];
    if (this.#peek() === '{') {
      do {
        this.#next();
        const [label, op, value] = [this.#next(), this.#next(), this.#next()];
        if (!/^[a-z_]\w*$/.test(label) || !['=', '!=', '=~', '!~'].includes(op) || !value.startsWith('"'))
          throw new Error(`no matcher: ${label} ${op} ${value}`);
        const text = JSON.parse(value) as string;
        if (op.endsWith('~')) new RegExp(text);
        matchers.push({ label, op, value: text });
      } while (this.#peek() === ',');
      this.#expect('}');
    }
    this.selectors.push({ name, matchers });
    if (this.#peek() !== '[') return false;
    this.#next();
    if (!/^\d+$/.test(this.#next()) || !/^(s|m|h|d)$/.test(this.#next()))
      throw new Error(`no duration, before ${this.#rest()}`);
    this.#expect(']');
    return true;
  }

  #peek = (): string => this.#tokens[this.#at] ?? '';

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new Error('it ends too early');
    this.#at += 1;
    return token;
  }

  #expect(token: string): void {
    const found = this.#next();
    if (found !== token) throw new Error(`“${token}” expected, “${found}” found, before ${this.#rest()}`);
  }

  #rest = (): string => this.#tokens.slice(this.#at, this.#at + 5).join(' ') || 'the end';
}
