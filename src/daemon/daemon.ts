/**
 * The daemon's life: configuration, locks, sockets, actors, and back in the opposite order.
 *
 * Sockets are there before the actors, so that callers are told `unavailable` instead of finding nobody; the CNI configuration only
 * once an address can be had.
 */
import { setMaxListeners } from 'node:events';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { refuseNewerStore } from '../../actors/claim-store.ts';
import { letHeldBackGo } from '../../actors/held-back.ts';
import { type NodeSystem, startNode } from '../../actors/node.ts';
import { systemClock, wallClock } from '../adapters/clock/steady-clock.ts';
import { makesIpvlan } from '../adapters/datapath/ipvlan-network.ts';
import { offerDevices } from '../adapters/device-plugin/device-plugin.ts';
import { readOnlyCloud } from '../adapters/ecs/read-only-cloud.ts';
import { connectKubernetes } from '../adapters/kubernetes/kubernetes-api.ts';
import type { RootLog } from '../adapters/logging/json-log.ts';
import type { LogTap } from '../adapters/logging/log-tap.ts';
import { NodeMetrics } from '../adapters/metrics/node-metrics.ts';
import { openKoffiLibc } from '../adapters/netlink/libc-koffi.ts';
import { takenInsteadOf } from '../core/cni-order.ts';
import type { Config } from '../core/config.ts';
import { eniDevices } from '../core/eni-devices.ts';
import { EnactorError } from '../core/errors.ts';
import { HEARTBEAT_PERIOD_MS } from '../core/heartbeat.ts';
import { OWN_ENI_RESOURCE } from '../core/own-eni.ts';
import { IP_TYPE } from '../core/wire.ts';
import type { Sandboxes } from '../ports/sandboxes.ts';
import type { Store } from '../ports/store.ts';
import { withAddNotices } from './add-notices.ts';
import { backendOver } from './backend.ts';
import { cloudAccess } from './cloud-access.ts';
import { ConfigKeeper, type Take } from './config-keeper.ts';
import { CONFLIST_NAME, installConflist } from './conflist.ts';
import { tellConnection } from './connection-news.ts';
import { Crowd } from './crowd.ts';
import { type Exclusive, exclusive } from './exclusive.ts';
import type { Flags } from './flags.ts';
import { FleetSize } from './fleet-size.ts';
import { followConfig, hearOverlay } from './follow-config.ts';
import { Gate } from './gate.ts';
import { beat } from './heartbeat.ts';
import { hostFacts, machineTold, refuseHost } from './host-facts.ts';
import { toldInWallTime } from './in-wall-time.ts';
import { kubernetesLater } from './kubernetes-later.ts';
import { MemoryAtRest, REST_LOOK_MS, residentBytes, thisProcess } from './memory-at-rest.ts';
import { NodeHerald } from './node-herald.ts';
import { NodePods } from './node-pods.ts';
import { nodePorts } from './node-ports.ts';
import { NodeRoom } from './node-room.ts';
import { nodeService } from './node-service.ts';
import { Notices } from './notices.ts';
import { rememberedOverlay, rememberOverlay } from './overlay-memory.ts';
import { carryOutPendingDeletes } from './pending-deletes.ts';
import { PodAnnotator } from './pod-annotator.ts';
import { PodCopies } from './pod-copies.ts';
import { ReadOnlyNews } from './read-only-news.ts';
import { readinessOf } from './readiness.ts';
import { Refusals } from './refusals.ts';
import { SecurityGroupWatch } from './security-group-watch.ts';
import { type Servers, startServers } from './servers.ts';
import { ToldBeside } from './told-beside.ts';

const IP_TYPE_OF = { ENIMultiIP: IP_TYPE.eniMultiIp, VPC: IP_TYPE.vpcIp, ENIOnly: IP_TYPE.vpcEni } as const;

/** How long requests under way may take to end when the daemon is told to. */
const DRAIN_MS = 10_000;
/** For the last answers to leave. */
const LAST_ANSWERS_MS = 100;
const PENDING_DELETES_MS = 2_000;
const HELD_BACK_MS = 2_000;
const POD_COPIES_MS = 60_000;
const PATHS_MS = 1_000;
const CONFLIST_MS = 2_000;
/** Security groups change seldom: looked at once in so many of the cloud's periods. */
const GROUP_PERIODS = 5;
const GROUP_GLANCE_MS = 2_000;
const NOTICES_MS = 500;
const HERALD_MS = 1_000;
const HERALD_MIN_MS = 100;
/** How long the first start of a node waits to hear whether it has an overlay. */
const OVERLAY_MS = 5_000;
const READ_ONLY_MS = 2_000;
/** A cluster grows slowly. */
const FLEET_MS = 3_600_000;

/**
 * Runs until `stop` fires; `onStarted` is called when everything is in place. Rejects with what kept it from starting or from going
 * on; either way sockets and locks are free again.
 */
export async function runDaemon(
  flags: Flags,
  { log, tap }: { readonly log: RootLog; readonly tap: LogTap },
  stop: AbortSignal,
  onStarted: () => void,
): Promise<void> {
  const keeper = new ConfigKeeper({
    ...{ flags, log, clock: systemClock, remembered: rememberedOverlay(flags.dataDir) },
    remember: (overlay) => rememberOverlay(flags.dataDir, overlay),
  });
  log.setLevel(keeper.config.logLevel);
  const facts = hostFacts();
  refuseHost(facts, keeper.config);
  const { store, restoreLock, release } = await exclusive(join(flags.dataDir, 'db'), flags.lockFile, stop, (opened) => {
    log.info({}, 'there is room: the database is open');
    tellSetAside(opened, log);
  });
  try {
    let system: NodeSystem | null = null;
    const gate = new Gate();
    const metrics = new NodeMetrics();
    const refusals = new Refusals(systemClock);
    const { failing } = store.state();
    // What cannot be read yet is looked at before anything is served from it.
    if (failing === null) await refuseNewerStore(store);
    else log.error({ ...failing }, 'the database cannot be opened yet: nothing is served until there is room');
    tellSetAside(store, log);
    let told: ToldBeside | null = null;
    let herald: NodeHerald | null = null;
    const news = new ReadOnlyNews(systemClock, log);
    const introspection = () =>
      system === null || told === null ? null : news.beside(told.beside(system.introspection));
    const report = () => introspection()?.report() ?? null;
    const toldOutside = () => {
      const told = introspection();
      return told === null ? null : toldInWallTime(told, systemClock.aheadMs);
    };
    const servers = await startServers(flags, refusals.over(gate.front), toldOutside, {
      log,
      logTap: tap,
      metrics: (report) => metrics.text(report, wallClock.nowMs()),
      config: () => keeper.report(),
      commands: () => keeper.config.debugCommands,
      tracingNow: () => ({ mode: keeper.config.daemonMode, vSwitchPolicy: keeper.config.settings.vSwitchPolicy }),
    });
    // What runs beside the actors ends when they do, whatever the reason.
    const ending = new AbortController();
    try {
      const connecting = connectKubernetes({
        kubeconfigPath: flags.kubeconfig,
        component: 'enactord',
        host: flags.nodeName,
      });
      const end = AbortSignal.any([stop, ending.signal]);
      setMaxListeners(0, end); // one for each loop below
      const overlay = hearOverlay(flags, keeper, kubernetesLater(connecting), log, end);
      // The first start of a node has to know; later ones remember.
      if (!keeper.knowsOverlay) await Promise.race([overlay.first, connecting.then(() => waited(OVERLAY_MS, end))]);
      const { config } = keeper;
      const { settings } = config;
      log.setLevel(config.logLevel);
      for (const { key, why } of config.notes) log.warn({ config: flags.config, key }, why);
      const pods = new NodePods(systemClock);
      const room = new NodeRoom({
        clock: systemClock,
        get holdMs() {
          return keeper.config.settings.fullNodeHoldMs;
        },
        get reservationsYield() {
          return keeper.config.settings.reservationsYield;
        },
        wanting: () => pods.census()?.wanting ?? null,
      });
      const rateLimits = () => keeper.config.rateLimits;
      const fleet = new FleetSize(flags.dataDir, log.part('fleet'));
      const nodes = () => fleet.nodes;
      const kubernetesThen = kubernetesLater(connecting);
      const crowd = new Crowd({ kubernetes: kubernetesThen, pods, fleet: nodes, log: log.part('crowd') });
      const access = cloudAccess({
        ...{ flags, config, clock: systemClock, rateLimits, onCall: metrics.called, log, fleet: nodes },
        crowd: (signal) => crowd.count(signal),
      });
      let groups: SecurityGroupWatch | null = null;
      const asksCloud = config.daemonMode !== 'VPC';
      const cloud = () => (asksCloud ? { ...access.report(), securityGroups: groups?.report() ?? null } : null);
      const world = nodePorts({ flags, config, access, store, kubernetes: kubernetesThen, log });
      const machine = machineTold({ facts, config, lackingChains: world.lackingChains, log }, end);
      told = new ToldBeside({
        ...{ refusals, pods, room, cloud, machine },
        podRoute: () => (asksCloud ? undefined : (herald?.podRoute() ?? null)),
        get fullNode() {
          return keeper.config.settings.fullNode;
        },
      });
      const ports = settings.readOnly ? { ...world, cloud: readOnlyCloud(world.cloud, news.refused) } : world;
      if (settings.readOnly) log.warn({}, 'read-only mode: nothing is changed in the cloud');
      system = startNode({ ports, settings, answered: metrics.answered });
      overlay.onCordon(system.cordon);
      log.info({ node: flags.nodeName, ms: Math.round(performance.now()), ...memory() }, 'daemon started');
      const kubernetes = await connecting;
      const { allocator } = system;
      const { sandboxes } = world;
      const { nodeName } = flags;
      const ipType = IP_TYPE_OF[config.daemonMode];
      const own = world.serveOwnEnis === null ? {} : { ownEnis: { given: world.serveOwnEnis } };
      const copies = new PodCopies({ store, kubernetes, nodeName, clock: systemClock, log: log.part('pods'), pods });
      const status = () => report()?.readiness ?? readinessOf(null, null, keeper.config.settings.fullNode);
      const clock = systemClock;
      const notices = new Notices({ kubernetes, clock, log: log.part('notices') });
      const openGate = ({ serviceCidr, settings: reservations }: Config): void => {
        const backend = {
          ...backendOver({
            allocator,
            kubernetes,
            sandboxes,
            copies,
            nodeName,
            serviceCidr,
            reservations,
            ipType,
            ...own,
          }),
          ...nodeService({ allocator, report, status, clock, log, allOwn: ipType === IP_TYPE.vpcEni }),
        };
        gate.open(
          withAddNotices(backend, {
            ...{ notices, copies, clock, afterMs: reservations.eventAfterMs },
            why: (pod) => introspection()?.why(pod).answer ?? null,
            isServed: (containerId, ifName) => allocator.lease(containerId, ifName) !== null,
          }),
        );
      };
      openGate(config);
      onStarted();
      const { changeSettings } = system;
      const take: Take = (changed, signal) => changeSettings(changed.settings, signal);
      const taken = (changed: Config): void => {
        log.setLevel(changed.logLevel);
        openGate(changed);
      };
      followConfig({ flags, keeper, kubernetes, log, take, taken }, end);
      const heart = { dataDir: flags.dataDir, bootIdFile: flags.bootIdFile, clock: wallClock, log };
      const beats = async () => (status().Code === 0 ? await beat(heart) : undefined);
      void every(HEARTBEAT_PERIOD_MS, end, beats, system.whenServing(end));
      const heldBack = { ...system, host: ports.host, kubernetes, store, nodeName: flags.nodeName, log };
      void copies.follow(end);
      void every(FLEET_MS, end, () => fleet.count(kubernetes, end));
      void every(NOTICES_MS, end, () => notices.write(end));
      tellConnection({
        ...{ config, nodeName, notices, log },
        makesIpvlan: () => makesIpvlan(openKoffiLibc()),
      });
      const { writes } = kubernetes;
      const speaks = new NodeHerald({
        ...{ writes, nodeName, report, notices, clock, wall: wallClock, log: log.part('herald') },
        get settings() {
          return keeper.config.settings;
        },
        census: () => pods.census(),
        fraction: Math.random,
      });
      const heraldMs = Math.max(HERALD_MIN_MS, Math.min(HERALD_MS, settings.nodeWriteMs));
      herald = speaks;
      void every(heraldMs, end, () => speaks.tell(end));
      const leases = () => report()?.leases ?? [];
      const annotator = new PodAnnotator({ writes, copies, leases, clock, log: log.part('herald') });
      const annotate = async () => {
        if (keeper.config.settings.patchPodIps) await annotator.annotate(end);
      };
      void every(heraldMs, end, annotate);
      if (settings.eniDevicePlugin) {
        const allOwn = config.daemonMode === 'ENIOnly';
        const count = () => (system === null ? null : eniDevices(system.introspection.report(), allOwn));
        const devices = { resource: OWN_ENI_RESOURCE, endpoint: 'enactor-eni.sock', prefix: 'eni-', count };
        void offerDevices({ directory: flags.devicePluginDir, ...devices, log: log.part('devices') }, end);
      }
      if (asksCloud) {
        groups = new SecurityGroupWatch({
          ...{ ...access, nodeName, notices, refusals, clock, log: log.part('groups') },
          configured: () => keeper.config.settings.securityGroupIds,
          used: system.securityGroups,
          ...{ lookAgain: system.lookAgain, leases },
          managed: () => new Set(report()?.enis.flatMap(({ eniId }) => eniId ?? []) ?? []),
        });
        void followGroups(groups, settings.cloudPeriodMs, system.whenServing(end), end);
      }
      void every(READ_ONLY_MS, end, async () => news.tell(report()?.readOnly?.would ?? []));
      void every(POD_COPIES_MS, end, () => copies.tidy());
      const atRest = new MemoryAtRest(thisProcess(), log.part('memory'));
      void every(REST_LOOK_MS, end, () => atRest.look());
      void every(HELD_BACK_MS, end, async () => void (await letHeldBackGo(heldBack, end)));
      const restoreStore = async () => (await store.restore?.()) ?? false;
      await goOn(flags, config, log, system, { ...servers, restoreLock, restoreStore, sandboxes }, end);
    } finally {
      ending.abort();
      log.info({ drainMs: DRAIN_MS }, 'daemon stopping');
      gate.shut('the daemon is stopping');
      servers.close();
      await system?.stop(stop.aborted ? DRAIN_MS : 0);
      gate.endCalls();
      await sleep(LAST_ANSWERS_MS);
      servers.destroy();
    }
  } finally {
    await release();
    log.info({}, 'daemon stopped');
  }
}

/** When the node serves, then now and then, and soon after a pod was refused for its group. */
async function followGroups(
  groups: SecurityGroupWatch,
  cloudPeriodMs: number,
  serving: Promise<void>,
  end: AbortSignal,
): Promise<void> {
  await serving.catch(() => {});
  const periodMs = cloudPeriodMs * GROUP_PERIODS;
  await every(Math.min(GROUP_GLANCE_MS, periodMs), end, () => groups.lookIfDue(periodMs, end));
}

const waited = (ms: number, end: AbortSignal): Promise<void> => sleep(ms, undefined, { signal: end }).catch(() => {});

type Beside = Pick<Servers, 'restore'> &
  Pick<Exclusive, 'restoreLock'> & {
    readonly restoreStore: () => Promise<boolean>;
    readonly sandboxes: Sandboxes;
  };

/** Resolves when `end` fires, rejects when the actors are lost, or somebody else has taken a socket's place or the lock. */
async function goOn(
  flags: Flags,
  config: Config,
  log: RootLog,
  system: NodeSystem,
  beside: Beside,
  end: AbortSignal,
): Promise<void> {
  const failures = [
    system.failed.then((error) => Promise.reject(new EnactorError('internal', `the actors failed: ${error.message}`))),
    // A clean-up of temporary files takes them all; whoever dials finds nobody until they are back.
    every(PATHS_MS, end, async () => {
      if (await beside.restoreStore()) log.error({}, 'the database was deleted: it is written anew from memory');
      if (beside.restoreLock()) log.warn({ path: flags.lockFile }, 'the lock file was deleted: made and locked anew');
      for (const path of await beside.restore()) log.warn({ path }, 'the socket was deleted: made anew');
    }),
    every(
      PENDING_DELETES_MS,
      end,
      async () => {
        const parts = { dataDir: flags.dataDir, allocator: system.allocator, sandboxes: beside.sandboxes, log };
        const done = await carryOutPendingDeletes(parts, end);
        if (done > 0) log.info({ deletions: done }, 'noted deletions carried out');
      },
      system.whenServing(end),
    ),
    serve(flags, config, log, system, end),
  ];
  const ended = new Promise<void>((resolve) => {
    if (end.aborted) resolve();
    end.addEventListener('abort', () => resolve(), { once: true });
  });
  // The loops resolve only with `end`; of all these only a rejection says anything.
  await Promise.race([ended, ...failures.map((one) => one.then(() => ended))]);
}

/**
 * Waits until addresses can be had, then lets kubelet know, and sees to it that it stays so: without the file containerd calls no DEL. A
 * directory that cannot be written is tried again.
 */
async function serve(flags: Flags, config: Config, log: RootLog, system: NodeSystem, end: AbortSignal): Promise<void> {
  try {
    await system.whenServing(end);
  } catch {
    return; // stopped or failed: `failed` tells which
  }
  log.info({ ms: Math.round(performance.now()), ...memory() }, 'node serving');
  const directory = flags.cniConfDir;
  if (directory === null) return;
  const conflist = {
    daemonSocket: flags.jsonSocket,
    dataDir: flags.dataDir,
    mtu: config.settings.mtu,
    ...(config.ipvlan && { eniip_virtual_type: 'IPVlan' }),
    host_stack_cidrs: config.hostStackCidrs,
  };
  const path = join(directory, CONFLIST_NAME);
  let first = true;
  let other: string | null = null;
  await every(CONFLIST_MS, end, async () => {
    try {
      const written = await installConflist(directory, conflist);
      if (first) log.info({ path, written }, 'CNI configuration installed');
      else if (written) log.warn({ path }, 'the CNI configuration was deleted or changed: installed anew');
      first = false;
      const taken = takenInsteadOf(CONFLIST_NAME, await readdir(directory));
      if (taken !== null && taken !== other)
        log.error(
          { directory, file: taken },
          'this file comes before ours: the runtime goes on using it, and asks us for no pod',
        );
      else if (taken === null && other !== null) log.info({ directory, file: other }, 'gone: the runtime uses ours');
      other = taken;
    } catch (thrown) {
      log.error({ directory, err: thrown }, 'CNI configuration cannot be installed');
    }
  });
}

function tellSetAside(store: Store, log: RootLog): void {
  const { setAside } = store.state();
  if (setAside !== null) log.error(setAside, 'the database was damaged and is set aside; what it held is found anew');
}

/** Works at once, whenever `ms` have gone by, and once as soon as `early` has settled. */
async function every(
  ms: number,
  end: AbortSignal,
  work: () => Promise<void>,
  early: Promise<void> | null = null,
): Promise<void> {
  const heard = (): void => {
    waking = [];
  };
  let waking = early === null ? [] : [early.then(heard, heard)];
  while (!end.aborted) {
    await work();
    await Promise.race([sleep(ms, undefined, { signal: end }).catch(() => {}), ...waking]);
  }
}

function memory(): { readonly rssMb?: number } {
  const bytes = residentBytes();
  return bytes === null ? {} : { rssMb: Math.round(bytes / 1e6) };
}
