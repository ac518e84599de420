/**
 * Tells the cluster how this node fares: the condition SufficientIP, the annotation with what it can serve, a taint while it is full, an
 * extended resource; and, as events of the node, what an operator should know.
 *
 * What is wanted is compared with what is there, which is read now and then, since a kubelet that registers anew zeroes extended resources
 * and people edit taints. Written is what differs, one thing at a time and seldom. While the node does not serve nothing is said.
 * Source: Terway, node condition SufficientIP and annotation max-available-ip; Kubernetes, "Node conditions", "Taints and tolerations".
 */
import { failureOf } from '../core/errors.ts';
import type { KubeSettings } from '../core/kube-settings.ts';
import { untilEither } from '../core/until-either.ts';
import type { Clock } from '../ports/clock.ts';
import type { NodeReport, PodRouteReport } from '../ports/introspection.ts';
import type { KubeWrites, NodeStanding, Taint } from '../ports/kube-writes.ts';
import type { Log } from '../ports/log.ts';
import type { Census } from './node-pods.ts';
import type { Notices } from './notices.ts';

export const FULL_TAINT: Taint = { key: 'enactor/full', effect: 'NoSchedule' };
export const SUFFICIENT_IP = 'SufficientIP';
export const MAX_AVAILABLE_IP = 'k8s.aliyun.com/max-available-ip';

/** After a failed call: the pause doubles from the one between two writes up to this many of them. */
const PAUSE_MAX_TIMES = 64;
const CALL_MS = 10_000;

export type NodeHeraldParts = {
  readonly writes: KubeWrites;
  readonly nodeName: string;
  readonly settings: KubeSettings;
  readonly report: () => NodeReport | null;
  readonly census: () => Census | null;
  readonly notices: Pick<Notices, 'tell'>;
  readonly clock: Clock;
  /** What is written for others to read; that of `clock` if not told. */
  readonly wall?: Clock;
  /** Uniform in [0, 1). */
  readonly fraction: () => number;
  readonly log: Log;
};

/** One thing that is not as it should be. */
type Change = {
  readonly what: string;
  readonly write: (signal: AbortSignal) => Promise<void>;
  readonly after: (node: NodeStanding) => NodeStanding;
};

/** Whoever makes the VPC's routes says so by it. Source: Kubernetes, cloud-provider, route controller. */
const NETWORK_UNAVAILABLE = 'NetworkUnavailable';

export class NodeHerald {
  readonly #parts: NodeHeraldParts;
  #node: NodeStanding | null = null;
  #readMs = Number.NEGATIVE_INFINITY;
  #heartbeatMs = Number.NEGATIVE_INFINITY;
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #full: boolean | null = null;
  #warned = '';
  readonly #failuresTold = new Map<string, string>();
  readonly #invalidTold = new Set<string>();

  constructor(parts: NodeHeraldParts) {
    this.#parts = parts;
  }

  /** What the Node object says of the route to this node's pods; null where nobody says anything, or it was not read yet. */
  podRoute(): PodRouteReport | null {
    const said = this.#node?.conditions.find(({ type }) => type === NETWORK_UNAVAILABLE);
    return said === undefined ? null : { made: said.status === 'False', reason: said.reason, message: said.message };
  }

  /** Called again and again; makes at most one write, and never rejects. */
  async tell(signal: AbortSignal): Promise<void> {
    const { clock, settings, report, log } = this.#parts;
    const now = report();
    if (now === null) return;
    this.#tellEvents(now);
    const nowMs = clock.nowMs();
    if (!now.state.endsWith('serving') || now.pool === null || nowMs < this.#notBeforeMs) return;
    try {
      await untilEither([signal, AbortSignal.timeout(CALL_MS)], (limit) => this.#tellNode(now, nowMs, limit));
    } catch (error) {
      if (signal.aborted) return;
      if (this.#failures === 0) log.warn({ failure: failureOf(error) }, 'the node object cannot be written');
      this.#failures += 1;
      const fullMs = settings.nodeWriteMs * Math.min(2 ** this.#failures, PAUSE_MAX_TIMES);
      this.#notBeforeMs = nowMs + fullMs * (0.5 + this.#parts.fraction() / 2);
      this.#readMs = Number.NEGATIVE_INFINITY; // whatever has become of it
    }
  }

  async #tellNode(now: NodeReport, nowMs: number, signal: AbortSignal): Promise<void> {
    const { settings, log } = this.#parts;
    if (nowMs - this.#readMs >= settings.nodePeriodMs) await this.#read(nowMs, signal);
    const node = this.#node;
    if (node === null || now.pool === null) return;
    this.#compareMaxPods(node, now.pool.capacity);
    const [change] = this.#changes(node, now, nowMs);
    if (change === undefined) return;
    await change.write(signal);
    this.#node = change.after(node);
    this.#failures = 0;
    this.#notBeforeMs = nowMs + settings.nodeWriteMs;
    // A refreshed heartbeat changes nothing.
    log[change.what.startsWith('heartbeat') ? 'debug' : 'info']({ change: change.what }, 'node object written');
  }

  async #read(nowMs: number, signal: AbortSignal): Promise<void> {
    this.#node = await this.#parts.writes.readNode(this.#parts.nodeName, signal);
    this.#readMs = nowMs;
  }

  /** The most urgent first: where the next pod is sent. */
  #changes(node: NodeStanding, report: NodeReport, nowMs: number): readonly Change[] {
    const { writes, nodeName, settings } = this.#parts;
    const full = report.room?.full === true;
    const capacity = report.pool?.capacity ?? 0;
    const changes: Change[] = [];
    const wanted = full && settings.fullNode === 'taint';
    const isFull = ({ key, effect }: Pick<Taint, 'key' | 'effect'>) =>
      key === FULL_TAINT.key && effect === FULL_TAINT.effect;
    if (node.taints.some(isFull) !== wanted)
      changes.push({
        what: wanted ? `taint ${FULL_TAINT.key} put on` : `taint ${FULL_TAINT.key} taken away`,
        write: (signal) => writes.setTaint(nodeName, FULL_TAINT, wanted, signal),
        after: (old) => {
          const others = old.taints.filter((taint) => !isFull(taint));
          return { ...old, taints: wanted ? [...others, FULL_TAINT] : others };
        },
      });
    const [condition, refreshed] = this.#conditionChange(node, full, report.room?.why ?? '', nowMs);
    if (condition !== null && !refreshed) changes.push(condition);
    if (node.annotations[MAX_AVAILABLE_IP] !== String(capacity)) {
      const annotations = { [MAX_AVAILABLE_IP]: String(capacity) };
      changes.push({
        what: `${MAX_AVAILABLE_IP}=${capacity}`,
        write: (signal) => writes.annotateNode(nodeName, annotations, signal),
        after: (old) => ({ ...old, annotations: { ...old.annotations, ...annotations } }),
      });
    }
    const resource = settings.addressResource;
    if (resource !== null && node.capacity[resource] !== String(capacity))
      changes.push({
        what: `capacity ${resource}=${capacity}`,
        write: (signal) => writes.setCapacity(nodeName, resource, capacity, signal),
        after: (old) => ({ ...old, capacity: { ...old.capacity, [resource]: String(capacity) } }),
      });
    if (condition !== null && refreshed) changes.push(condition);
    return changes;
  }

  /** And whether it is the same as before, only with a new heartbeat: that can wait. */
  #conditionChange(node: NodeStanding, full: boolean, why: string, nowMs: number): readonly [Change | null, boolean] {
    const { writes, nodeName, settings, clock, wall = clock } = this.#parts;
    const before = node.conditions.find(({ type }) => type === SUFFICIENT_IP);
    const status = full ? 'False' : 'True';
    const same = before?.status === status;
    if (same && nowMs - this.#heartbeatMs < settings.nodePeriodMs) return [null, true];
    const condition = {
      type: SUFFICIENT_IP,
      status,
      reason: full ? 'InsufficientIP' : 'SufficientIP',
      message: full ? `node has insufficient IP: ${why}` : 'node has sufficient IP',
      transitionMs: same ? before.transitionMs : wall.nowMs(),
    } as const;
    const change: Change = {
      what: same ? `heartbeat of ${SUFFICIENT_IP}` : `condition ${SUFFICIENT_IP} ${status}`,
      write: async (signal) => {
        await writes.setCondition(nodeName, condition, wall.nowMs(), signal);
        this.#heartbeatMs = nowMs;
      },
      after: (old) => ({
        ...old,
        conditions: [...old.conditions.filter(({ type }) => type !== SUFFICIENT_IP), condition],
      }),
    };
    return [change, same];
  }

  /** Pods that the kubelet would take, and that no address is left for, would be scheduled here only to fail. */
  #compareMaxPods(node: NodeStanding, capacity: number): void {
    const { census, log } = this.#parts;
    const maxPods = Number(node.capacity.pods);
    const counted = census();
    if (!(maxPods > 0) || counted === null) return;
    const wanting = maxPods - counted.others;
    const numbers = wanting > capacity ? `${maxPods} ${counted.others} ${capacity}` : '';
    if (numbers === this.#warned) return;
    this.#warned = numbers;
    if (numbers === '') return;
    log.warn(
      { maxPods, others: counted.others, addresses: capacity },
      'the kubelet takes more pods than there are addresses',
    );
    this.#event(
      'Warning',
      'MaxPodsExceedAddresses',
      `the kubelet takes ${maxPods} pods, ${counted.others} of them need no address, and the node can have ${capacity} addresses: set max pods to ${capacity + counted.others}`,
    );
  }

  #tellEvents({ room, enis, invalidLeases = [] }: NodeReport): void {
    const full = room?.full ?? null;
    if (full !== null && full !== this.#full) {
      if (full) this.#event('Warning', 'InsufficientIP', `node has insufficient IP: ${room?.why}`);
      else if (this.#full !== null) this.#event('Normal', 'SufficientIP', `node has sufficient IP: ${room?.why}`);
      this.#full = full;
    }
    for (const { actor, eniId, lastFailure } of enis) {
      if (lastFailure === null) this.#failuresTold.delete(actor);
      else if (this.#failuresTold.get(actor) !== lastFailure) {
        this.#failuresTold.set(actor, lastFailure);
        this.#event('Warning', 'AllocIPFailed', `${eniId ?? 'a new ENI'}: ${lastFailure}`);
      }
    }
    const invalid = new Map(invalidLeases.map((lease) => [lease.grant.address.ipv4, lease.sandbox.pod]));
    for (const [ip, { namespace, name, uid }] of invalid) {
      if (this.#invalidTold.has(ip)) continue;
      this.#invalidTold.add(ip);
      this.#event('Warning', 'ResourceInvalid', `Mark as invalid, ip: ${ip}`);
      const target = { kind: 'pod', namespace, name, uid } as const;
      const message = `the address ${ip} of this pod is on no ENI of the node any more: delete the pod`;
      if (name !== '') this.#parts.notices.tell({ target, type: 'Warning', reason: 'ResourceInvalid', message });
    }
    for (const ip of this.#invalidTold) if (!invalid.has(ip)) this.#invalidTold.delete(ip);
  }

  #event(type: 'Normal' | 'Warning', reason: string, message: string): void {
    const target = { kind: 'node', name: this.#parts.nodeName, uid: this.#node?.uid ?? null } as const;
    this.#parts.notices.tell({ target, type, reason, message });
  }
}
