/** The node's own network card: the one of the default route with the least metric. Source: proc(5), /proc/net/route. */
import { readFileSync } from 'node:fs';
import type { Primary } from './guest-agents.ts';

/** null where there is none. */
export function primaryIn(routes: string, macOf: (device: string) => string): Primary | null {
  const defaults = routes
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))
    .filter(([, destination, , , , , , mask]) => destination === '00000000' && mask === '00000000')
    .toSorted((a, b) => Number(a[6]) - Number(b[6]));
  const name = defaults[0]?.[0]?.trim();
  return name === undefined ? null : { name, mac: macOf(name).trim() };
}

export function primaryDevice(): Primary | null {
  try {
    return primaryIn(readFileSync('/proc/net/route', 'utf8'), (name) =>
      readFileSync(`/sys/class/net/${name}/address`, 'utf8'),
    );
  } catch {
    return null;
  }
}
