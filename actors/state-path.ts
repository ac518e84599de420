/** The dotted path of a chart's state, `inUse.assigning`; regions of a parallel state are joined by `+`. */
export function statePath(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null) return '';
  return Object.entries(value)
    .map(([name, inner]) => {
      const rest = statePath(inner);
      return rest === '' ? name : `${name}.${rest}`;
    })
    .join('+');
}
