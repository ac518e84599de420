/** The ports of one life of a daemon: the fakes over the world, each with what is wrong around the node at the moment. */
import type { NodePorts } from '../../actors/ports.ts';
import { EnactorError } from '../core/errors.ts';
import type { Settings } from '../core/settings.ts';
import { CloudError } from '../ports/cloud.ts';
import type { Log } from '../ports/log.ts';
import type { CallWatch } from './call-watch.ts';
import { type CrashDisk, crashStore } from './crash-store.ts';
import type { CrashPoint } from './deed.ts';
import { fakeCloud } from './fake-cloud.ts';
import type { FakeHost } from './fake-host.ts';
import type { FakeKubernetes } from './fake-kubernetes.ts';
import { fakeMetadata } from './fake-metadata.ts';
import type { FakeSandboxes } from './fake-sandboxes.ts';
import type { Life } from './life.ts';
import type { Issuers } from './lifetimes.ts';
import type { Mishaps } from './mishaps.ts';
import { type HostDevices, pluggedKernel } from './plugged-kernel.ts';
import type { RecordWatch } from './record-watch.ts';
import { Seeded } from './seeded.ts';
import type { VirtualCloud } from './virtual-cloud.ts';
import { virtualKubernetes } from './virtual-kubernetes.ts';
import { withLifetimes } from './with-lifetimes.ts';
import type { Witness } from './witness.ts';

/** Of the calls so many wait for their turn whatever the account is used for. */
const TURNS_SHARE = 0.3;

export type NodePortsOptions = {
  readonly index: number;
  readonly instanceId: string;
  readonly seed: number;
  readonly life: Life;
  readonly settings: Settings;
  readonly disk: CrashDisk;
  readonly devices: HostDevices;
  readonly host: FakeHost;
  readonly sandboxes: FakeSandboxes;
  readonly mishaps: Mishaps;
  readonly cloud: VirtualCloud;
  readonly apiServer: FakeKubernetes;
  /** null: nothing that opens doors ends. */
  readonly issuers: Issuers | null;
  readonly witness: Witness;
  readonly calls: CallWatch;
  readonly records: RecordWatch;
  readonly chance: Seeded;
  readonly log: Log;
  /** A point that a crash may strike at is passed. */
  readonly pass: (point: CrashPoint) => void;
};

export function portsOf(options: NodePortsOptions): NodePorts {
  const { index, instanceId, seed, life, settings, disk, devices, host, sandboxes, mishaps } = options;
  const { cloud, apiServer, issuers, witness, calls, records, chance, log, pass } = options;
  const kubernetesChance = new Seeded(seed, `api server ${index} ${life.number}`);
  let tokens = 0;
  const metadataFailing = (): string | null => mishaps.metadataFailure();
  const endingChance = new Seeded(seed, `lifetimes ${index} ${life.number}`);
  const ending =
    issuers === null
      ? null
      : withLifetimes({
          ...{ cloud, instanceId, life, issuers, failing: metadataFailing },
          delayMs: () => endingChance.between(1, 8),
          fraction: () => endingChance.fraction(),
        });
  const turns = new Seeded(seed, `turns ${index} ${life.number}`);
  return {
    cloud: fakeCloud({
      cloud,
      life,
      turn: (call, about, background, signal) => {
        const refusal = mishaps.failure('turns');
        if (refusal !== null)
          return Promise.reject(new CloudError('permission', `${call} ${about}: ${refusal}`, 'Forbidden.RAM'));
        return waited(life, signal, turnMs(turns, mishaps.slowTurnsMs, background));
      },
      timeoutMs: settings.callTimeoutMs,
      wireMs: () => (chance.chance(0.02) ? chance.between(500, 8_000) : chance.between(1, 5)),
      ...(ending !== null &&
        issuers !== null && {
          keys: { credentials: ending.credentials, opens: (id: string) => issuers.opens('key', id, instanceId) },
        }),
      tap: {
        sending: (api, input, clientToken) => {
          calls.sending(api, input, clientToken);
          if (!calls.mutates(api)) return;
          pass('callSending');
          if (!life.over) calls.intended(api, input, disk.synced('intents'));
        },
        late: (api) => mishaps.lateCalls.take(api),
        carriedOut: (api) => {
          if (calls.mutates(api)) pass('callCarriedOut');
        },
        settled: (api, input, clientToken, outcome) => calls.settled(api, input, clientToken, outcome),
      },
    }),
    metadata:
      ending?.metadata ??
      fakeMetadata({ cloud, instanceId, life, delayMs: () => chance.between(1, 8), failing: metadataFailing }),
    store: crashStore({
      disk,
      life,
      delayMs: () => {
        const ms = chance.chance(0.02) ? chance.between(50, 400) : chance.between(1, 6);
        return Math.max(ms, mishaps.slowStoreMs);
      },
      tap: {
        writing: () => pass('storeWriting'),
        pending: () => pass('storePending'),
        synced: (ops) => {
          witness.synced(index, ops);
          records.synced(ops);
          pass('storeSynced');
        },
        failing: () => mishaps.storeFailure(),
      },
    }),
    kernel: pluggedKernel({
      devices,
      life,
      delayMs: () => chance.between(1, 20),
      failing: () => mishaps.kernelFailure(life),
    }),
    host: {
      bootId: () => host.bootId(),
      pods: () => host.pods(),
      links: async () => {
        const failure = mishaps.failure('host');
        if (failure !== null) throw new EnactorError('device', `the host's devices: ${failure}`);
        return await host.links();
      },
    },
    kubernetes: virtualKubernetes({
      server: apiServer,
      life,
      delayMs: () =>
        mishaps.slowApiMs > 0
          ? mishaps.slowApiMs
          : kubernetesChance.chance(0.02)
            ? kubernetesChance.between(500, 9_000)
            : kubernetesChance.between(1, 20),
      failing: () => mishaps.failure('kubernetes'),
      ...(ending !== null && { guarded: ending.guarded }),
      leavesOut: () => mishaps.isShort(),
      isBehind: () => mishaps.lapse.isOf('api'),
    }),
    sandboxes: {
      isThere: (sandbox) =>
        life.promise((resolve, reject) => {
          const failure = mishaps.failure('sandboxes');
          if (failure !== null) reject(new EnactorError('device', failure));
          else void sandboxes.isThere(sandbox).then(resolve, reject);
        }),
    },
    clock: { nowMs: life.nowMs },
    entropy: {
      token: () => {
        tokens += 1;
        return `n${index + 1}-${life.number}-${tokens}`;
      },
      fraction: () => chance.fraction(),
    },
    log,
  };
}

/** How long a call waits for its turn. @param slowMs while a fleet shares the account's calls; 0: it does not */
function turnMs(chance: Seeded, slowMs: number, background: boolean): number {
  if (!chance.chance(TURNS_SHARE)) return slowMs === 0 ? 0 : chance.between(slowMs / 2, slowMs);
  return Math.max(slowMs, chance.between(50, background ? 40_000 : 15_000));
}

/** A call that waits for its turn: seconds where other nodes need the account's calls. Rejects with `cancelled` when it is given up. */
function waited(life: Life, signal: AbortSignal, ms: number): Promise<void> {
  if (ms === 0) return Promise.resolve();
  return life.promise((resolve, reject) => {
    const give = (): void => reject(new EnactorError('cancelled', 'given up while it waited for its turn'));
    signal.addEventListener('abort', give, { once: true });
    life.after(ms, () => {
      signal.removeEventListener('abort', give);
      resolve();
    });
  });
}
