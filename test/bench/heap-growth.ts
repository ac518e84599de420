/**
 * What a heap has more of than it had: two snapshots of V8, compared by kinds of objects and by who holds them.
 *
 * A kind is a constructor, or for plain objects the names of their properties, since nearly all of ours are plain. Who holds something is the
 * shortest way to it from the roots, by properties' names, as a developer would look for it; what hangs on one entry of a map or list counts
 * with that of all others. Source: v8/include/v8-profiler.h, HeapGraphEdge and HeapGraphNode; DevTools' format of snapshots.
 */
import { readFileSync } from 'node:fs';

type Snapshot = {
  readonly snapshot: {
    readonly meta: {
      readonly node_fields: readonly string[];
      readonly node_types: readonly [readonly string[], ...unknown[]];
      readonly edge_fields: readonly string[];
      readonly edge_types: readonly [readonly string[], ...unknown[]];
    };
  };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
};

export type HeapPart = { readonly bytes: number; readonly objects: number };

/** Names of a plain object's properties that its kind is told by, and steps of the way to it that are shown. */
const NAMES_SHOWN = 6;
const STEPS_SHOWN = 3;
const SHOWN = 40;

/** Bytes and objects by kind and holder. */
export function heapParts(path: string): ReadonlyMap<string, HeapPart> {
  const heap = new Heap(JSON.parse(readFileSync(path, 'utf8')) as Snapshot);
  return heap.parts();
}

class Heap {
  readonly #raw: Snapshot;
  readonly #nodeTypes: readonly string[];
  readonly #edgeTypes: readonly string[];
  readonly #nodeSize: number;
  readonly #edgeSize: number;
  /** Of each node: where its edges begin. */
  readonly #firstEdge: Uint32Array;
  readonly #kinds = new Map<number, string>();

  constructor(raw: Snapshot) {
    this.#raw = raw;
    const { node_fields, node_types, edge_fields, edge_types } = raw.snapshot.meta;
    this.#nodeTypes = node_types[0];
    this.#edgeTypes = edge_types[0];
    this.#nodeSize = node_fields.length;
    this.#edgeSize = edge_fields.length;
    if (`${node_fields.slice(0, 5)}` !== 'type,name,id,self_size,edge_count')
      throw new Error(`nodes of a heap snapshot are ${node_fields} here`);
    if (`${edge_fields}` !== 'type,name_or_index,to_node') throw new Error(`its edges are ${edge_fields} here`);
    const count = raw.nodes.length / this.#nodeSize;
    this.#firstEdge = new Uint32Array(count + 1);
    for (let nth = 0; nth < count; nth += 1)
      this.#firstEdge[nth + 1] = (this.#firstEdge[nth] ?? 0) + (raw.nodes[nth * this.#nodeSize + 4] ?? 0);
  }

  parts(): ReadonlyMap<string, HeapPart> {
    const ways = this.#ways();
    const parts = new Map<string, { bytes: number; objects: number }>();
    for (const [node, way] of ways.entries()) {
      const bytes = this.#raw.nodes[node * this.#nodeSize + 3] ?? 0;
      if (bytes === 0) continue;
      const name = `${this.#kind(node)}  <- ${way ?? 'nothing that keeps it'}`;
      const part = parts.get(name) ?? { bytes: 0, objects: 0 };
      part.bytes += bytes;
      part.objects += 1;
      parts.set(name, part);
    }
    return parts;
  }

  /** Breadth first from the root: of each node the last steps of the shortest way there. */
  #ways(): (string | null)[] {
    const count = this.#firstEdge.length - 1;
    const parent = new Int32Array(count).fill(-1);
    const step: (string | null)[] = new Array(count).fill(null);
    const line = new Uint32Array(count);
    parent[0] = 0;
    let [from, to] = [0, 1];
    while (from < to) {
      const node = line[from] ?? 0;
      from += 1;
      for (let edge = this.#firstEdge[node] ?? 0; edge < (this.#firstEdge[node + 1] ?? 0); edge += 1) {
        const type = this.#edgeTypes[this.#raw.edges[edge * this.#edgeSize] ?? 0];
        if (type === 'weak') continue;
        const next = (this.#raw.edges[edge * this.#edgeSize + 2] ?? 0) / this.#nodeSize;
        if (parent[next] !== -1) continue;
        parent[next] = node;
        step[next] = this.#stepOf(type ?? '', this.#raw.edges[edge * this.#edgeSize + 1] ?? 0);
        line[to] = next;
        to += 1;
      }
    }
    return step.map((_, nth) => (parent[nth] === -1 ? null : this.#wayTo(nth, parent, step)));
  }

  #wayTo(node: number, parent: Int32Array, step: readonly (string | null)[]): string {
    const steps: string[] = [];
    for (let at = node; at !== 0 && steps.length < STEPS_SHOWN; at = parent[at] ?? 0) {
      const holder = parent[at] ?? 0;
      steps.push(`${step[at]} of ${this.#shortKind(holder)}`);
    }
    return steps.join(' <- ');
  }

  #stepOf(type: string, name: number): string {
    if (type === 'element') return '[]';
    // A map's table names its entries by what they are.
    const text = type === 'hidden' ? `hidden` : (this.#raw.strings[name] ?? '');
    return /^\d+$|^\(?transition\)?$|: |^\d+ \/ part of key/.test(text) ? '[]' : text.slice(0, 40);
  }

  #shortKind(node: number): string {
    const kind = this.#kind(node);
    return kind.length > 60 ? `${kind.slice(0, 59)}…` : kind;
  }

  #kind(node: number): string {
    const known = this.#kinds.get(node);
    if (known !== undefined) return known;
    const at = node * this.#nodeSize;
    const type = this.#nodeTypes[this.#raw.nodes[at] ?? 0] ?? '';
    const name = (this.#raw.strings[this.#raw.nodes[at + 1] ?? 0] ?? '').slice(0, 60);
    const kind = this.#kindOf(node, type, name);
    this.#kinds.set(node, kind);
    return kind;
  }

  #kindOf(node: number, type: string, name: string): string {
    if (type === 'string' || type.endsWith('string')) return type;
    if (type === 'number' || type === 'bigint') return type;
    if (type !== 'object' || name !== 'Object') return `${type} ${name}`;
    const names: string[] = [];
    for (let edge = this.#firstEdge[node] ?? 0; edge < (this.#firstEdge[node + 1] ?? 0); edge += 1) {
      if (this.#edgeTypes[this.#raw.edges[edge * this.#edgeSize] ?? 0] !== 'property') continue;
      const property = this.#raw.strings[this.#raw.edges[edge * this.#edgeSize + 1] ?? 0] ?? '';
      if (property !== '__proto__') names.push(property);
    }
    return `{${names.slice(0, NAMES_SHOWN).join(' ')}${names.length > NAMES_SHOWN ? ' …' : ''}}`;
  }
}

/** What `later` has more of, most first, as text. */
export function heapGrowth(earlier: ReadonlyMap<string, HeapPart>, later: ReadonlyMap<string, HeapPart>): string {
  const nothing = { bytes: 0, objects: 0 };
  return [...new Set([...earlier.keys(), ...later.keys()])]
    .map((name) => {
      const [before, after] = [earlier.get(name) ?? nothing, later.get(name) ?? nothing];
      return { name, bytes: after.bytes - before.bytes, objects: after.objects - before.objects };
    })
    .sort((a, b) => Math.abs(b.bytes) - Math.abs(a.bytes))
    .slice(0, SHOWN)
    .map(
      ({ name, bytes, objects }) =>
        `${(bytes / 1_000).toFixed(1).padStart(9)} KB ${String(objects).padStart(8)} objects  ${name}`,
    )
    .join('\n');
}
