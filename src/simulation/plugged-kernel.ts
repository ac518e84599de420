/**
 * Port Kernel of a host whose devices come and go as the cloud plugs them: the fake of src/adapters/datapath/host-kernel.ts, held to
 * the same contract suite (test/contracts/kernel.ts). It outlives the daemon, as a kernel does.
 *
 * What it cannot show: that packets flow. The real adapter's tests do.
 */
import { EnactorError } from '../core/errors.ts';
import type { EniDevice, EniDeviceWanted, Kernel } from '../ports/kernel.ts';
import type { Life } from './life.ts';

/** Source: src/adapters/datapath/route-table.ts. */
const ROUTE_TABLE_BASE = 1000;

export class HostDevices {
  /** By MAC. */
  readonly #links = new Map<string, { readonly ifindex: number; readonly name: string }>();
  /** MAC -> table, of the ENIs that are set up. */
  readonly tables = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  #next = 2;

  get macs(): ReadonlySet<string> {
    return new Set(this.#links.keys());
  }

  plug(mac: string): void {
    if (this.#links.has(mac)) return;
    const ifindex = this.#next;
    this.#next += 1;
    this.#links.set(mac, { ifindex, name: `eth${ifindex - 1}` });
    for (const look of [...this.#waiting]) look();
  }

  /** The kernel forgets a device's routes with it; rules stay. */
  unplug(mac: string): void {
    this.#links.delete(mac);
    this.tables.delete(mac);
  }

  /** Null while there is no such device. */
  setUp(wanted: EniDeviceWanted): EniDevice | null {
    const mac = wanted.mac.toLowerCase();
    const link = this.#links.get(mac);
    if (link === undefined) return null;
    const taken = new Set([...this.tables].filter(([other]) => other !== mac).map(([, table]) => table));
    let table = this.tables.get(mac) ?? wanted.routeTable ?? ROUTE_TABLE_BASE + link.ifindex;
    if (taken.has(table)) table = ROUTE_TABLE_BASE + link.ifindex;
    while (taken.has(table)) table += 1;
    this.tables.set(mac, table);
    return { ...link, routeTable: table };
  }

  /** Calls `look` whenever a device has appeared; answers with the way to stop. */
  onPlugged(look: () => void): () => void {
    this.#waiting.add(look);
    return () => void this.#waiting.delete(look);
  }
}

export function pluggedKernel(options: {
  readonly devices: HostDevices;
  readonly life: Life;
  readonly delayMs?: () => number;
  /** Asked once for each time something is set up or taken down: why it fails, or null. */
  readonly failing?: () => string | null;
}): Kernel {
  const { devices, life, delayMs = () => 0, failing = () => null } = options;
  return {
    prepareHost: () =>
      life.promise((resolve, reject) => {
        life.after(delayMs(), () => {
          const failure = failing();
          if (failure === null) resolve();
          else reject(new EnactorError('device', `host settings: ${failure}`));
        });
      }),
    setUpEni: (wanted, signal) =>
      life.promise((resolve, reject) => {
        let open = true;
        const end = (settled: () => void): void => {
          open = false;
          stop();
          signal.removeEventListener('abort', abort);
          settled();
        };
        const look = (): void => {
          if (life.over) return void stop();
          if (!open || !devices.macs.has(wanted.mac.toLowerCase())) return;
          const failure = failing();
          if (failure !== null) {
            end(() => reject(new EnactorError('device', `ENI ${wanted.mac}: ${failure}`)));
            return;
          }
          const device = devices.setUp(wanted);
          if (device !== null) end(() => resolve(device));
        };
        const abort = (): void => {
          const error = new Error(`waiting for ENI ${wanted.mac} was aborted`);
          end(() => reject(Object.assign(error, { name: 'AbortError' })));
        };
        const stop = devices.onPlugged(() => void life.after(delayMs(), look));
        signal.addEventListener('abort', abort, { once: true });
        if (signal.aborted) abort();
        else life.after(delayMs(), look);
      }),
    tearDownEni: ({ mac, routeTable }) =>
      life.promise((resolve, reject) => {
        life.after(delayMs(), () => {
          if (routeTable < ROUTE_TABLE_BASE)
            return reject(new EnactorError('device', `ENI ${mac}: table ${routeTable} is not an ENI's`));
          const failure = failing();
          if (failure !== null) return reject(new EnactorError('device', `ENI ${mac}: ${failure}`));
          devices.tables.delete(mac.toLowerCase());
          resolve();
        });
      }),
  };
}
