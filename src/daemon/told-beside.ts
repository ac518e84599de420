/** What the daemon itself knows beside its actors: refusals, its way to the cloud, the watch of pods, the node's room and whether it is ready. */
import type { FullNode } from '../core/kube-settings.ts';
import type { CloudReport, Introspection, MachineReport, NodeReport, PodRouteReport } from '../ports/introspection.ts';
import type { NodePods } from './node-pods.ts';
import type { NodeRoom } from './node-room.ts';
import { readinessOf } from './readiness.ts';
import type { Refusals } from './refusals.ts';

export type ToldBesideParts = {
  readonly refusals: Refusals;
  readonly pods: NodePods;
  readonly room: NodeRoom;
  readonly fullNode: FullNode;
  /** null: no cloud is asked. */
  readonly cloud: () => CloudReport | null;
  readonly machine: () => MachineReport;
  /** undefined: the VPC itself has the pods' addresses. */
  readonly podRoute: () => PodRouteReport | null | undefined;
};

export class ToldBeside {
  readonly #parts: ToldBesideParts;

  constructor(parts: ToldBesideParts) {
    this.#parts = parts;
  }

  /** What the actors tell, and this. */
  beside(introspection: Introspection): Introspection {
    const told = this.#parts.refusals.beside(introspection);
    return { ...told, report: () => this.#reportWith(told.report()) };
  }

  #reportWith(actors: NodeReport): NodeReport {
    const { pods, room, fullNode } = this.#parts;
    const cloud = this.#parts.cloud();
    const podRoute = this.#parts.podRoute();
    const beside = {
      ...{ podWatch: pods.watch(), machine: this.#parts.machine() },
      ...(podRoute !== undefined && { podRoute }),
    };
    const report: NodeReport = { ...actors, ...beside, ...(cloud === null ? {} : { cloud }) };
    const counted = room.count(report);
    return {
      ...report,
      room: counted === null ? null : { full: counted.full, free: counted.free, why: counted.why },
      readiness: readinessOf(report, counted, fullNode),
    };
  }
}
