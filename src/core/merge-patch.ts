/**
 * JSON merge patch: null deletes, objects merge, everything else replaces, lists too. Source: RFC 7396.
 */
export type Keys = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Keys {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What comes out is JSON if both are. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) return patch;
  const result: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null || value === undefined) delete result[key];
    else set(result, key, mergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value));
  }
  return result;
}

/** As an own property, also for `__proto__`. */
function set(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}
