/**
 * Where a configuration comes from: the file, the overlay that the node's label names, and flags, each over the one before.
 *
 * An overlay is merged into the file as Terway merges it: objects key by key, lists whole, and null takes a key away (so that its
 * default holds, or a zone has no list of its own).
 * Source: Terway, dynamic configuration by the node label `terway-config`; RFC 7396.
 */
import { ConfigRefused } from './config-refusal.ts';
import { isObject, type Keys, mergePatch } from './merge-patch.ts';

export type Layer = {
  /** `file`, `overlay NAME`, `flag --log-level`. */
  readonly source: string;
  readonly keys: Keys;
};

export type Layered = {
  readonly keys: Keys;
  /** By key: who said it last, all of them when it is an object that several have a part in. */
  readonly sources: Readonly<Record<string, string>>;
};

/** Throws ConfigRefused when the text is no JSON object; the parser's own message quotes the text and is not handed on. */
export function layerOf(source: string, text: string): Layer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    const [, position] = /position (\d+)/.exec((thrown as Error).message) ?? [];
    throw new ConfigRefused([
      { key: '', why: `is not JSON${position === undefined ? '' : ` (at character ${position})`}` },
    ]);
  }
  if (!isObject(value)) throw new ConfigRefused([{ key: '', why: 'is not a JSON object' }]);
  return { source, keys: value };
}

export function layered(layers: readonly Layer[]): Layered {
  let keys: Keys = {};
  const sources: Record<string, string> = {};
  for (const [index, { source, keys: patch }] of layers.entries()) {
    // A null in the first layer is how Go writes what was not said: nothing is taken away by it.
    const merged = index === 0 ? patch : (mergePatch(keys, patch) as Keys);
    for (const [key, value] of Object.entries(patch)) {
      const before = sources[key];
      if (!Object.hasOwn(merged, key)) sources[key] = `default, ${source} takes it away`;
      else if (before !== undefined && isObject(value) && isObject(keys[key])) sources[key] = `${before}, ${source}`;
      else sources[key] = source;
    }
    keys = merged;
  }
  return { keys, sources };
}
