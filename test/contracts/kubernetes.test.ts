import { join } from 'node:path';
import t from 'tap';
import { connectKubernetes } from '../../src/adapters/kubernetes/kubernetes-api.ts';
import { known } from '../../src/lab/apiserver/resource.ts';
import { FakeKubernetes } from '../../src/simulation/fake-kubernetes.ts';
import { cluster, podBody } from '../lab/apiserver/client.ts';
import { type ControllerPods, kubernetesContract } from './kubernetes.ts';

kubernetesContract(t, 'kubernetes over HTTPS', async (t) => {
  const kubeconfigPath = join(t.testdir(), 'kubeconfig');
  const { api, server } = await cluster(t, { kubeconfigPath });
  const ns = { namespace: 'default' };
  return {
    kubernetes: await connectKubernetes({ kubeconfigPath, component: 'enactord', host: 'n1' }),
    createPod: async (name, nodeName) => {
      await api.createNamespacedPod({ ...ns, body: podBody(name, { nodeName }) });
    },
    deletePod: async (name) => {
      await api.deleteNamespacedPod({ ...ns, name, gracePeriodSeconds: 0 });
    },
    createNode: async (name, podCIDR, address) => {
      const status = { addresses: [{ type: 'InternalIP', address }] };
      await api.createNode({ body: { metadata: { name }, spec: { podCIDR }, status } });
    },
    cordon: async (name) => {
      await api.patchNode({ name, body: [{ op: 'add', path: '/spec/unschedulable', value: true }] });
    },
    putConfigMap: async (name, data) => {
      const { items } = await api.listNamespacedConfigMap(ns);
      if (data === null) await api.deleteNamespacedConfigMap({ ...ns, name });
      else if (items.some(({ metadata }) => metadata?.name === name))
        await api.replaceNamespacedConfigMap({ ...ns, name, body: { metadata: { name }, data } });
      else await api.createNamespacedConfigMap({ ...ns, body: { metadata: { name }, data } });
    },
    putController: async (kind, name, pods) => {
      const resource = known(`${kind.toLowerCase()}s`);
      const { spec, status } = controllerParts(kind, pods);
      const made = server.lifecycle.create(resource, 'default', { metadata: { name }, spec });
      server.lifecycle.update(resource, made, { ...made, status }, 'status');
    },
    events: async () =>
      (await api.listNamespacedEvent(ns)).items.map(({ reason = '', message = '', count = 0 }) => ({
        reason,
        message,
        count,
      })),
  };
});

/** As its controller writes it; what is 0 is left out where the API does so. */
function controllerParts(kind: string, { wanted, ready, oneByOne = false }: ControllerPods) {
  const readies = ready === 0 ? {} : { readyReplicas: ready };
  switch (kind) {
    case 'StatefulSet': {
      const policy = oneByOne ? {} : { podManagementPolicy: 'Parallel' };
      return { spec: { replicas: wanted, ...policy }, status: { replicas: wanted, ...readies } };
    }
    case 'ReplicaSet':
      return { spec: { replicas: wanted }, status: { replicas: wanted, ...readies } };
    case 'DaemonSet':
      return { spec: {}, status: { desiredNumberScheduled: wanted, numberReady: ready } };
    default:
      return { spec: { parallelism: wanted }, status: { active: wanted, ready } };
  }
}

kubernetesContract(t, 'fake kubernetes', async () => {
  const kubernetes = new FakeKubernetes();
  const none = { hostNetwork: false, labels: {}, annotations: {}, podIPs: [], deletionMs: null, ownerKind: null };
  return {
    kubernetes,
    createPod: async (name, nodeName) =>
      kubernetes.putPod({ ...none, namespace: 'default', name, uid: `uid-${name}`, nodeName, phase: 'Pending' }),
    deletePod: async (name) => kubernetes.deletePod('default', name),
    createNode: async (name, podCidr, internalIp) =>
      kubernetes.putNode({
        name,
        uid: `uid-${name}`,
        labels: {},
        annotations: {},
        podCidrs: [podCidr],
        internalIps: [internalIp],
        providerId: null,
        unschedulable: false,
      }),
    cordon: async (name) => {
      const node = await kubernetes.getNode(name, new AbortController().signal);
      if (node !== null) kubernetes.putNode({ ...node, unschedulable: true });
    },
    putController: async (kind, name, pods) => kubernetes.putController(kind, 'default', name, pods),
    putConfigMap: async (name, data) => kubernetes.putConfigMap('default', name, data),
    events: async () =>
      [...kubernetes.events].map(([text, count]) => {
        const { reason, message } = JSON.parse(text) as { reason: string; message: string };
        return { reason, message, count };
      }),
  };
});
