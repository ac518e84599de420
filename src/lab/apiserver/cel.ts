/**
 * As much of CEL as our admission policy is written in: literals of texts, lists and empty maps, members, indexes, `in`, `==`, `!=`, `!`,
 * `&&`, `||`, `?:`, and the macros has, all and exists. An expression beyond it throws, so that nothing passes by not being understood.
 * Errors are absorbed by && and || as CEL has it. Source: CEL language definition, "Logical operators", "Macros".
 */

export type Bindings = Readonly<Record<string, unknown>>;
type Read = (bindings: Bindings) => unknown;

const TOKEN = /\s*(?:('(?:[^'\\]|\\.)*')|([A-Za-z_]\w*)|(\d+)|(&&|\|\||==|!=|[!?:.,()[\]{}]))/y;

export function cel(text: string): Read {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(text)?.[0].trim();
    if (token === undefined) throw new SyntaxError(`cel: ${text.slice(at, at + 20)}`);
    tokens.push(token);
  }
  const parser = new Parser(tokens);
  const read = parser.conditional();
  parser.end();
  return read;
}

class Parser {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(tokens: readonly string[]) {
    this.#tokens = tokens;
  }

  conditional(): Read {
    const test = this.#or();
    if (!this.#take('?')) return test;
    const yes = this.conditional();
    this.#need(':');
    const no = this.conditional();
    return (of) => (bool(test(of)) ? yes(of) : no(of));
  }

  end(): void {
    if (this.#at < this.#tokens.length) throw new SyntaxError(`cel: ${this.#tokens[this.#at]} is not expected`);
  }

  #or(): Read {
    let left = this.#and();
    while (this.#take('||')) left = decided(left, this.#and(), true);
    return left;
  }

  #and(): Read {
    let left = this.#relation();
    while (this.#take('&&')) left = decided(left, this.#relation(), false);
    return left;
  }

  #relation(): Read {
    const left = this.#unary();
    for (const operator of ['==', '!=', 'in'] as const)
      if (this.#take(operator)) {
        const right = this.#unary();
        if (operator === 'in') return (of) => isIn(left(of), right(of));
        return (of) => equal(left(of), right(of)) === (operator === '==');
      }
    return left;
  }

  #unary(): Read {
    if (!this.#take('!')) return this.#member();
    const inner = this.#unary();
    return (of) => !bool(inner(of));
  }

  #member(): Read {
    let value = this.#primary();
    for (;;) {
      const of = value;
      if (this.#take('[')) {
        const index = this.conditional();
        this.#need(']');
        value = (bindings) => member(of(bindings), index(bindings));
      } else if (this.#take('.')) {
        const name = this.#next();
        if (!this.#take('(')) value = (bindings) => member(of(bindings), name);
        else if (name === 'all' || name === 'exists') value = this.#macro(of, name);
        else throw new SyntaxError(`cel: ${name}() is not known here`);
      } else return value;
    }
  }

  #macro(range: Read, name: 'all' | 'exists'): Read {
    const variable = this.#next();
    this.#need(',');
    const holds = this.conditional();
    this.#need(')');
    return (of) => {
      const over = range(of);
      const items = Array.isArray(over) ? over : Object.keys(over as object);
      const each = (item: unknown) => bool(holds({ ...of, [variable]: item }));
      return name === 'all' ? items.every(each) : items.some(each);
    };
  }

  #primary(): Read {
    const token = this.#next();
    if (token === '(') {
      const inner = this.conditional();
      this.#need(')');
      return inner;
    }
    if (token === 'has' && this.#take('(')) return this.#has();
    if (token === '[' && this.#take(']')) return () => [];
    if (token === '{' && this.#take('}')) return () => ({});
    if (token.startsWith("'")) return () => token.slice(1, -1);
    if (/^\d+$/.test(token)) return () => Number(token);
    if (token === 'null') return () => null;
    if (!/^[A-Za-z_]/.test(token)) throw new SyntaxError(`cel: ${token} is not expected`);
    return (of) => member(of, token);
  }

  /** Its argument is a member: whether the last of its names is there. */
  #has(): Read {
    const from = this.#at;
    while (this.#tokens[this.#at] !== ')') this.#at += 1;
    const argument = this.#tokens.slice(from, this.#at);
    this.#need(')');
    const name = argument.at(-1) ?? '';
    const of = new Parser(argument.slice(0, -2)).#member();
    return (bindings) => {
      const value = of(bindings);
      return typeof value === 'object' && value !== null && Object.hasOwn(value, name);
    };
  }

  #take(token: string): boolean {
    if (this.#tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }

  #need(token: string): void {
    if (!this.#take(token)) throw new SyntaxError(`cel: ${token} is expected before ${this.#tokens[this.#at]}`);
  }

  #next(): string {
    const token = this.#tokens[this.#at];
    if (token === undefined) throw new SyntaxError('cel: ends too soon');
    this.#at += 1;
    return token;
  }
}

/** `deciding` of either side decides, even when the other fails. */
function decided(left: Read, right: Read, deciding: boolean): Read {
  return (of) => {
    let first: unknown;
    try {
      first = bool(left(of));
    } catch (error) {
      if (bool(right(of)) === deciding) return deciding;
      throw error;
    }
    return first === deciding ? deciding : bool(right(of));
  };
}

function bool(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new TypeError('cel: no such overload');
  return value;
}

function member(value: unknown, key: unknown): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key as PropertyKey))
    throw new TypeError(`cel: no such key: ${String(key)}`);
  return (value as Readonly<Record<PropertyKey, unknown>>)[key as PropertyKey];
}

const isIn = (item: unknown, of: unknown): boolean =>
  Array.isArray(of) ? of.some((one) => equal(one, item)) : Object.hasOwn(of as object, item as PropertyKey);

function equal(a: unknown, b: unknown): boolean {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const [left, right] = [Object.entries(a), b as Readonly<Record<string, unknown>>];
  return (
    left.length === Object.keys(b).length &&
    left.every(([key, value]) => Object.hasOwn(b, key) && equal(value, right[key]))
  );
}
