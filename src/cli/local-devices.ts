/** This host's network devices by MAC. */
import { readdirSync, readFileSync } from 'node:fs';

const DEVICES = '/sys/class/net';

/** Of two devices with one MAC (a vlan and what it stands on) the one that is backed by hardware. */
export function deviceNames(): ReadonlyMap<string, string> {
  const names = new Map<string, string>();
  for (const name of readdirSync(DEVICES)) {
    const mac = textOf(`${DEVICES}/${name}/address`);
    if (mac === null || mac === '00:00:00:00:00:00') continue;
    if (!names.has(mac) || textOf(`${DEVICES}/${name}/device/uevent`) !== null) names.set(mac, name);
  }
  return names;
}

/** null for what is not there, or went while it was read. */
function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}
