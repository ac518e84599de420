/**
 * Port Kernel of a host whose devices come and go as the cloud plugs them: the fake of src/adapters/datapath/host-kernel.ts, held to
 * the same contract suite (test/contracts/kernel.ts). It outlives the daemon, as a kernel does.
 *
 * What it cannot show: that packets flow. The real adapter's tests do.
 */
import type { Drift, DriftKind } from '../core/drift.ts';
import { EnactorError } from '../core/errors.ts';
import { OWN_ENI_TABLE } from '../core/own-eni.ts';
import { repairKey } from '../core/repair-ledger.ts';
import { podKey, type Sandbox, type SandboxKey, sandboxKey } from '../core/sandbox.ts';
import type { HostPod } from '../ports/host.ts';
import type { EniDevice, EniDeviceWanted, HostKept, HostWanted, Kernel, SandboxLeft } from '../ports/kernel.ts';
import type { Life } from './life.ts';

/** Source: src/adapters/datapath/route-table.ts. */
const ROUTE_TABLE_BASE = 1000;

/** What may be wrong with an ENI's device or with what a pod has on the host. */
export type Flaw = Extract<DriftKind, 'eniDown' | 'eniRoute' | 'foreignAddress' | 'podRoute' | 'podRule'>;

type PodObjects = {
  readonly sandbox: Sandbox;
  readonly ips: readonly string[];
  readonly routeTable: number;
  /** Another plugin's pod bears no mark: nothing tells whose it is. */
  readonly marked: boolean;
  readonly flaws: Set<Flaw>;
};

export class HostDevices {
  /** By MAC. */
  readonly flaws = new Map<string, Set<Flaw>>();
  /** What plugins have made. */
  readonly pods = new Map<SandboxKey, PodObjects>();
  /** Addresses that there are rules about, and the sandbox whose plugin made them. A namespace that goes takes its devices along, not these. */
  readonly rules = new Map<string, SandboxKey>();
  /** The table that the rules about an address lead to. */
  readonly #ruleTables = new Map<string, number>();
  readonly #watching = new Set<() => void>();
  /** By MAC. */
  readonly #links = new Map<string, { readonly ifindex: number; readonly name: string }>();
  /** MAC -> table, of the ENIs that are set up. */
  readonly tables = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  /** MACs of devices that pods have: they are on no host until their sandbox is gone. */
  readonly #inPods = new Map<SandboxKey, string>();
  /** A device comes back from a pod, if the cloud has it here yet. */
  onReturn: (mac: string) => void = (mac) => this.plug(mac);
  /** Whatever a sandbox has left cannot be removed. */
  stuck = false;
  #next = 2;

  get links(): readonly { readonly mac: string; readonly name: string; readonly ifindex: number }[] {
    return [...this.#links].map(([mac, link]) => ({ mac, name: link.name, ifindex: link.ifindex }));
  }

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
    for (const [key, theirs] of this.#inPods) if (theirs === mac) this.#inPods.delete(key);
    this.#leave(mac);
  }

  /** Some pod has the device. */
  isInPod(mac: string): boolean {
    return [...this.#inPods.values()].includes(mac);
  }

  #leave(mac: string): void {
    if (!this.#links.delete(mac)) return;
    this.flaws.delete(mac);
    this.tables.delete(mac);
    for (const tell of [...this.#watching]) tell();
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
    this.flaws.delete(mac);
    return { ...link, routeTable: table };
  }

  /** As a plugin does at the end of an ADD. */
  podMade(sandbox: Sandbox, ips: readonly string[], routeTable: number, marked: boolean, ownMac: string | null): void {
    const key = sandboxKey(sandbox);
    this.pods.set(key, { sandbox, ips, routeTable, marked, flaws: new Set() });
    if (ownMac !== null) {
      // Made again by whoever asks again: the device is there.
      if (!this.isInPod(ownMac) && this.#links.has(ownMac)) {
        this.#inPods.set(key, ownMac);
        this.#leave(ownMac);
      }
      return;
    }
    for (const ip of ips) {
      this.rules.set(ip, key);
      this.#ruleTables.set(ip, routeTable);
    }
  }

  /** As a plugin does at the end of a DEL: `told` are the addresses that the daemon named. */
  podDeleted(key: SandboxKey, told: readonly string[]): void {
    const ips = new Set([...told, ...(this.pods.get(key)?.ips ?? [])]);
    this.sandboxGone(key);
    for (const ip of ips) if (!this.#isRouted(ip)) this.rules.delete(ip);
  }

  /** Its namespace is gone, and what was in it. A device of the cloud's comes back from there. */
  sandboxGone(key: SandboxKey): void {
    this.pods.delete(key);
    const mac = this.#inPods.get(key);
    if (mac === undefined) return;
    this.#inPods.delete(key);
    this.onReturn(mac);
  }

  #isRouted(ip: string): boolean {
    for (const { ips } of this.pods.values()) if (ips.includes(ip)) return true;
    return false;
  }

  /** What the host tells of them to whoever has lost everything else. */
  get hostPods(): readonly HostPod[] {
    return [...this.pods.values()].map(({ sandbox: { containerId, ifName, pod }, ips, routeTable, marked }) => ({
      device: `cali-${containerId}`,
      ips,
      // Its mark says, too, that no rule leads what it sends.
      routeTable: routeTable >= ROUTE_TABLE_BASE ? routeTable : marked ? OWN_ENI_TABLE : null,
      sandbox: marked ? { containerId, ifName, pod: { ...pod, uid: null } } : null,
    }));
  }

  /** Every namespace, route and rule is gone, and devices have other numbers. */
  reboot(): void {
    this.pods.clear();
    this.rules.clear();
    this.tables.clear();
    this.flaws.clear();
    const macs = [...this.#inPods.values(), ...[...this.#links.keys()].reverse()];
    this.#inPods.clear();
    this.#links.clear();
    for (const mac of macs) this.plug(mac);
  }

  /** Somebody else changes the host: whose it was (a sandbox, a MAC), and what is wrong there now; null when there is nothing of the kind. */
  spoil(flaw: Flaw, which: number): { readonly whose: string; readonly flaws: ReadonlySet<Flaw> } | null {
    const all = flaw.startsWith('pod')
      ? [...this.pods].map(([whose, { flaws }]) => ({ whose, flaws }))
      : [...this.tables.keys()]
          .filter((mac) => this.#links.has(mac))
          .map((mac) => ({ whose: mac, flaws: this.#flawsOf(mac) }));
    const chosen = all[which % Math.max(1, all.length)];
    chosen?.flaws.add(flaw);
    if (chosen !== undefined) for (const tell of [...this.#watching]) tell();
    return chosen ?? null;
  }

  #flawsOf(mac: string): Set<Flaw> {
    const flaws = this.flaws.get(mac) ?? new Set<Flaw>();
    this.flaws.set(mac, flaws);
    return flaws;
  }

  onChanged(tell: () => void): () => void {
    this.#watching.add(tell);
    return () => void this.#watching.delete(tell);
  }

  keep({ enis, pods, claimed, dead, heldOff, thorough }: HostWanted): HostKept {
    const drifts: Drift[] = [];
    const whole: SandboxKey[] = [];
    const begun: SandboxKey[] = [];
    const mend = (flaws: Set<Flaw>, of: string, pod: string | null): void => {
      for (const kind of [...flaws]) {
        const drift = { kind, object: `${kind} ${of}`, pod, detail: null };
        const held = heldOff.has(repairKey(drift));
        if (!held) flaws.delete(kind);
        drifts.push({ ...drift, outcome: held ? 'heldOff' : 'repaired' });
      }
    };
    for (const eni of enis) {
      const mac = eni.mac.toLowerCase();
      if (this.#links.has(mac)) {
        const flaws = this.#flawsOf(mac);
        // It was gone and has come back, bare.
        const isBare = !this.tables.has(mac);
        if (isBare) for (const flaw of ['eniDown', 'eniRoute'] as const) flaws.add(flaw);
        mend(flaws, mac, null);
        if (isBare && !flaws.has('eniRoute')) this.tables.set(mac, eni.routeTable);
      } else drifts.push({ kind: 'eniDevice', object: mac, pod: null, outcome: 'beyondRepair', detail: null });
    }
    const leftover = (object: string, pod: string | null): void =>
      void drifts.push({ kind: 'leftover', object, pod, outcome: 'repaired', detail: null });
    for (const ip of enis.flatMap(({ freeIps }) => freeIps))
      if (!this.#isRouted(ip) && this.rules.delete(ip)) leftover(`rules of ${ip}`, null);
    const held = new Set(pods.flatMap(({ ips }) => ips));
    const known = new Set([...enis, ...pods, ...dead].flatMap(({ ips }) => ips));
    const tables = new Set(this.tables.values());
    for (const { routeTable } of enis) tables.delete(routeTable);
    for (const ip of thorough ? [...this.rules.keys()] : []) {
      const leadsNowhere = !tables.has(this.#ruleTables.get(ip) ?? 0);
      if (leadsNowhere && !known.has(ip) && !this.#isRouted(ip) && this.rules.delete(ip))
        leftover(`rules of ${ip}`, null);
    }
    for (const { sandbox, ips } of dead) {
      const key = sandboxKey(sandbox);
      const all = new Set([...ips, ...(this.pods.get(key)?.ips ?? [])]);
      const drift = { kind: 'leftover' as const, object: key, pod: podKey(sandbox.pod) };
      const isHeldOff = heldOff.has(repairKey(drift));
      if (isHeldOff || this.stuck) {
        const isThere =
          this.pods.has(key) || [...all].some((ip) => !held.has(ip) && !this.#isRouted(ip) && this.rules.has(ip));
        if (isThere)
          drifts.push({ ...drift, outcome: isHeldOff ? 'heldOff' : 'failed', detail: 'it cannot be removed' });
        continue;
      }
      const wasThere = this.pods.delete(key);
      const ruled = [...all].filter((ip) => !held.has(ip) && !this.#isRouted(ip) && this.rules.delete(ip));
      if (wasThere || ruled.length > 0) leftover(key, podKey(sandbox.pod));
    }
    for (const { sandbox, standing } of pods) {
      const there = this.pods.get(sandboxKey(sandbox));
      const pod = podKey(sandbox.pod);
      if (there === undefined) {
        if (standing === 'seen')
          drifts.push({ kind: 'podDevice', object: pod, pod, outcome: 'beyondRepair', detail: null });
        continue;
      }
      if (there.flaws.size === 0) whole.push(sandboxKey(sandbox));
      else if (standing !== 'young') mend(there.flaws, sandboxKey(sandbox), pod);
      else begun.push(sandboxKey(sandbox));
    }
    const unclaimed: SandboxLeft[] = [...this.pods].flatMap(([key, { sandbox, ips }]) =>
      claimed.has(key) ? [] : [{ sandbox, ips }],
    );
    return { drifts, whole, begun, unclaimed: thorough ? unclaimed : [] };
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
          devices.flaws.delete(mac.toLowerCase());
          resolve();
        });
      }),
    keep: (wanted) => {
      const failure = failing();
      const kept = failure === null ? devices.keep(wanted) : null;
      return life.promise((resolve, reject) => {
        life.after(delayMs(), () => {
          if (kept !== null) resolve(kept);
          else reject(new EnactorError('device', `the host's network: ${failure}`));
        });
      });
    },
    watch: (onChange) => {
      const failure = failing();
      if (failure !== null) throw new EnactorError('device', `the kernel's events: ${failure}`);
      const stop = devices.onChanged(() => {
        if (life.over) stop();
        else life.after(delayMs(), onChange);
      });
      return stop;
    },
    forgetConnections: () =>
      life.promise((resolve) => {
        life.after(0, () => resolve(0));
      }),
  };
}
