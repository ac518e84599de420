import type { Lease } from '../../src/core/lease.ts';
import { sandboxKey } from '../../src/core/sandbox.ts';
import type { AllocateRequest, Allocator, ReleaseRequest } from '../../src/ports/allocator.ts';
import type { KubeEvent, Kubernetes, Pod } from '../../src/ports/kubernetes.ts';
import type { Sandboxes } from '../../src/ports/sandboxes.ts';
import { leaseOf } from './lease-of.ts';

/** Grants everything at once and remembers what it was asked. */
export class FakeAllocator implements Allocator {
  readonly leases = new Map<string, Lease>();
  readonly allocated: AllocateRequest[] = [];
  readonly released: ReleaseRequest[] = [];
  failure: Error | null = null;

  async allocate(request: AllocateRequest): Promise<Lease> {
    this.allocated.push(request);
    if (this.failure !== null) throw this.failure;
    const lease = { ...leaseOf(request.sandbox.containerId), sandbox: request.sandbox };
    this.leases.set(sandboxKey(request.sandbox), lease);
    return lease;
  }

  async release(request: ReleaseRequest): Promise<Lease | null> {
    this.released.push(request);
    if (this.failure !== null) throw this.failure;
    const found = this.leases.get(sandboxKey(request)) ?? null;
    this.leases.delete(sandboxKey(request));
    return found;
  }

  lease(containerId: string, ifName: string): Lease | null {
    return this.leases.get(sandboxKey({ containerId, ifName })) ?? null;
  }
}

/** A host on which every sandbox is there. */
export const allThere: Sandboxes = { isThere: async () => true };

export const podP: Pod = {
  namespace: 'default',
  name: 'p',
  uid: 'uid-p',
  nodeName: 'node-1',
  phase: 'Pending',
  hostNetwork: false,
  labels: {},
  annotations: {},
  podIPs: [],
  deletionMs: null,
  ownerKind: null,
};

export class FakeKubernetes implements Kubernetes {
  pod: Pod | null = podP;
  failure: Error | null = null;
  asked = 0;
  readonly events: KubeEvent[] = [];

  async getPod(namespace: string, name: string): Promise<Pod | null> {
    this.asked += 1;
    if (this.failure !== null) throw this.failure;
    return this.pod?.namespace === namespace && this.pod.name === name ? this.pod : null;
  }
  async listNodePods(): Promise<Pod[]> {
    return this.pod === null ? [] : [this.pod];
  }
  async watchNodePods(): Promise<void> {}
  async getNode(name: string) {
    const nothing = { labels: {}, annotations: {}, podCidrs: [], internalIps: [], providerId: null };
    return { name, uid: 'uid-node', ...nothing, unschedulable: false };
  }
  async countNodes(): Promise<number> {
    return 1;
  }
  async unready(): Promise<null> {
    return null;
  }
  async watchNode(): Promise<void> {}
  async watchConfigMap(): Promise<void> {}
  async recordEvent(event: KubeEvent): Promise<void> {
    this.events.push(event);
  }
}
