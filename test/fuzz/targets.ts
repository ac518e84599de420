/**
 * Everything here that reads bytes of others: the runtime's (CNI), callers' (gRPC, JSON over HTTP), people's (configuration, annotations), the API
 * server's, the store's, the kernel's (netlink). The kernel is trusted; what is asked there is that a short or strange message is refused
 * at once and never read beyond its end.
 */

import { BoltError, readBucket } from '../../src/adapters/bolt/bolt-reader.ts';
import { bucketFile } from '../../src/adapters/bolt/bolt-writer.ts';
import { backendMessages } from '../../src/adapters/grpc/backend-messages.ts';
import { ClientFrames } from '../../src/adapters/grpc/plain-authority.ts';
import { decodeMessage, encodeMessage } from '../../src/adapters/grpc/proto-wire.ts';
import { backendService, nodeServiceDefinition, tracingService } from '../../src/adapters/grpc/service.ts';
import { dispatch, isBackendMethod } from '../../src/adapters/http/dispatcher.ts';
import { controllers } from '../../src/adapters/kubernetes/controller-values.ts';
import { configMapData, nodeOf, podOf, podPage } from '../../src/adapters/kubernetes/kube-values.ts';
import { decoded } from '../../src/adapters/level/record.ts';
import { addAddr, decodeAddr } from '../../src/adapters/netlink/wire/addr.ts';
import { decodeConnection, dumpAllConnections } from '../../src/adapters/netlink/wire/connection.ts';
import { createVeth, decodeLink } from '../../src/adapters/netlink/wire/link.ts';
import { decodeMessages, encodeRequest } from '../../src/adapters/netlink/wire/message.ts';
import { decodeNeighbour, setNeighbour } from '../../src/adapters/netlink/wire/neighbour.ts';
import { decodeNftRule, replaceTable } from '../../src/adapters/netlink/wire/nftables.ts';
import { decodeQdisc, replaceTokenBucket } from '../../src/adapters/netlink/wire/qdisc.ts';
import { addRoute, decodeRoute } from '../../src/adapters/netlink/wire/route.ts';
import { addRule, decodeRule } from '../../src/adapters/netlink/wire/rule.ts';
import { parseConfig } from '../../src/core/config.ts';
import { layered, layerOf } from '../../src/core/config-layers.ts';
import { durationMs } from '../../src/core/duration.ts';
import { EnactorError } from '../../src/core/errors.ts';
import { shapingOf } from '../../src/core/shaping.ts';
import { parseTerwayRecord } from '../../src/core/terway-record.ts';
import { traceParentIn } from '../../src/core/trace-parent.ts';
import { CniError } from '../../src/plugin/cni-error.ts';
import { parseConfiguration, versionIn } from '../../src/plugin/configuration.ts';
import { parseInvocation } from '../../src/plugin/invocation.ts';
import { parsePodArgs, readPodArgs } from '../../src/plugin/pod-args.ts';
import { addressesIn, earlierIn } from '../../src/plugin/result.ts';
import { fakeBackend, fullReply } from '../adapters/http/fake-backend.ts';
import type { Target } from './target.ts';

const json = (...values: readonly unknown[]): Buffer[] => values.map((value) => Buffer.from(JSON.stringify(value)));
const texts = (...values: readonly string[]): Buffer[] => values.map((value) => Buffer.from(value));
const never = () => false;
const cniError = (thrown: unknown) => thrown instanceof CniError;
const enactorError = (thrown: unknown) => thrown instanceof EnactorError;

const conflist = {
  ...{ cniVersion: '1.0.0', name: 'enactor', type: 'enactor-cni', daemonSocket: '/run/a.sock', mtu: 1500 },
  ...{ runtimeConfig: { bandwidth: { ingressRate: 1000, ingressBurst: 10 } }, host_stack_cidrs: ['169.254.20.10/32'] },
  prevResult: {
    cniVersion: '1.0.0',
    ips: [{ address: '10.0.0.4/32', interface: 0 }],
    interfaces: [{ name: 'eth0', sandbox: '/n' }],
  },
  'cni.dev/valid-attachments': [{ containerID: 'a', ifname: 'eth0' }],
};
const config = {
  ...{ cluster_id: 'c', vswitches: { k: ['vsw-1'] }, security_groups: ['sg-1'], min_pool_size: 1, max_pool_size: 2 },
  ...{
    service_cidr: '172.16.0.0/16',
    cool_down: '30s',
    eni_tags: { a: 'b' },
    rate_limit: { AssignPrivateIpAddresses: 5 },
  },
};
const pod = {
  metadata: {
    name: 'w',
    namespace: 'd',
    uid: 'u',
    annotations: { 'k8s.aliyun.com/pod-ips': '' },
    ownerReferences: [{ kind: 'StatefulSet', name: 's', uid: 'v', controller: true }],
  },
  spec: { nodeName: 'n', hostNetwork: false, containers: [{ name: 'c' }] },
  status: { phase: 'Running', podIPs: [{ ip: '10.0.0.4' }], conditions: [{ type: 'Ready', status: 'True' }] },
};
const controller = {
  spec: { replicas: 3, podManagementPolicy: 'Parallel' },
  status: { readyReplicas: 1, desiredNumberScheduled: 3, numberReady: 1, active: 3, ready: 1 },
};
const unready = [...controllers.values()].map((one) => one.unready);
const node = {
  metadata: { name: 'n', labels: { 'terway-config': 'o' } },
  spec: { podCIDR: '10.1.0.0/24', unschedulable: true },
};

const reader = (
  name: string,
  about: string,
  seeds: readonly Buffer[],
  run: Target['run'],
  expected: Target['expected'] = never,
): Target => ({
  ...{ name, about, seeds, run, expected },
});
const asJson = (data: Buffer, read: (value: unknown) => void): void => {
  let value: unknown;
  try {
    value = JSON.parse(data.toString());
  } catch {
    return; // told by whoever parses
  }
  read(value);
};

/** A netlink message without its header, as its decoder gets it. */
const bodies = (...requests: readonly Parameters<typeof encodeRequest>[0][]): Buffer[] =>
  requests.map((request) => encodeRequest(request, 1).subarray(16));
const netlink = (name: string, seeds: readonly Buffer[], decode: (body: Buffer) => unknown): Target =>
  reader(
    `netlink-${name}`,
    'what the kernel tells',
    seeds,
    (data) => void decode(data),
    (thrown) => thrown instanceof RangeError,
  );

const mac = '00:16:3e:00:00:01';
const end = { name: 'eth0', mac, mtu: 1500 };
const { backend } = fakeBackend(() => ({}));
const { signal: gone } = new AbortController();
const services = [backendService(), nodeServiceDefinition(), tracingService()];

export const targets: readonly Target[] = [
  reader(
    'cni-configuration',
    'the plugin’s standard input',
    json(conflist),
    (data) => void parseConfiguration(data),
    cniError,
  ),
  reader(
    'cni-version',
    'the version to answer a broken input in',
    json(conflist),
    (data) => void versionIn(data, '1.0.0'),
  ),
  reader(
    'cni-environment',
    'the plugin’s environment, one variable a line',
    texts(
      'CNI_COMMAND=ADD\nCNI_CONTAINERID=c1\nCNI_NETNS=/run/netns/a\nCNI_IFNAME=eth0\nCNI_ARGS=K8S_POD_NAME=w;K8S_POD_NAMESPACE=d\nCNI_PATH=/opt/cni/bin',
    ),
    (data) =>
      void parseInvocation(
        Object.fromEntries(
          data
            .toString()
            .split('\n')
            .map((line) => [line.split('=')[0] ?? '', line.replace(/^[^=]*=/, '')]),
        ),
      ),
    cniError,
  ),
  reader(
    'cni-args',
    'CNI_ARGS',
    texts('IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web-1;K8S_POD_INFRA_CONTAINER_ID=c1;K8S_POD_UID=u'),
    (data) => {
      readPodArgs(data.toString());
      parsePodArgs(data.toString());
    },
    cniError,
  ),
  reader('cni-previous-result', 'prevResult, of whatever version', json(conflist.prevResult), (data) =>
    asJson(data, (value) => {
      earlierIn(value);
      addressesIn(value);
    }),
  ),
  reader('configuration', 'eni_conf', json(config), (data) => void parseConfig(data.toString(), 'n1'), enactorError),
  reader(
    'overlay',
    'the ConfigMap that a node’s label names, over the file',
    json(config, { vswitches: { k: null } }),
    (data) => void layered([layerOf('file', JSON.stringify(config)), layerOf('overlay', data.toString())]),
    enactorError,
  ),
  reader(
    'annotations',
    'a pod’s bandwidths, durations, and the caller’s trace',
    json({ 'kubernetes.io/ingress-bandwidth': '10M', 'k8s.aliyun.com/egress-bandwidth': '1MiB' }),
    (data) => {
      asJson(data, (value) => {
        const pairs = Object.entries(typeof value === 'object' && value !== null ? value : {});
        shapingOf(
          Object.fromEntries(pairs.map(([key, one]) => [key, typeof one === 'string' ? one : JSON.stringify(one)])),
        );
      });
      durationMs(data.toString());
      traceParentIn(data.toString());
    },
  ),
  reader(
    'kubernetes',
    'what the API server answers',
    json(controller, pod, node, { metadata: { resourceVersion: '1' }, items: [pod] }, { data: { eni_conf: '{}' } }),
    (data) =>
      asJson(data, (value) => {
        for (const read of [podOf, nodeOf, podPage, configMapData, ...unready])
          try {
            read(value);
          } catch (thrown) {
            if (!enactorError(thrown)) throw thrown;
          }
      }),
  ),
  reader(
    'json-requests',
    'JSON over HTTP, after the method’s name and a blank',
    texts(
      'AllocIP {"K8sPodName":"w","K8sPodNamespace":"d","K8sPodInfraContainerId":"c","IfName":"eth0"}',
      'ReleaseIP {"K8sPodName":"w","IPv4Addr":{"IPv4":"10.0.0.4"},"IPType":2}',
      'Gc {"NetworkName":"enactor","ValidAttachments":[{"ContainerId":"c","IfName":"eth0"}]}',
      'RecordEvent {"EventTarget":1,"Message":"m"}',
    ),
    async (data) => {
      const text = data.toString();
      const method = text.slice(0, Math.max(0, text.indexOf(' ')));
      if (!isBackendMethod(method)) return;
      let request: unknown;
      try {
        request = JSON.parse(text.slice(method.length));
      } catch {
        return;
      }
      await dispatch(backend, method, request, { timeoutMs: 1_000, gone, trace: text });
    },
    enactorError,
  ),
  reader(
    'proto-requests',
    'gRPC messages of all three services',
    Object.values(services[0] ?? {}).flatMap(({ requestSerialize }) => [
      requestSerialize({
        K8sPodName: 'w',
        K8sPodNamespace: 'd',
        K8sPodInfraContainerId: 'c',
        Netns: '/n',
        IfName: 'eth0',
      }),
    ]),
    (data) => {
      for (const service of services)
        for (const { requestDeserialize, responseDeserialize } of Object.values(service))
          for (const read of [requestDeserialize, responseDeserialize])
            try {
              read(data);
            } catch (thrown) {
              if (!(thrown instanceof Error) || thrown instanceof TypeError) throw thrown;
            }
    },
  ),
  reader(
    'store-record',
    'a record of the database',
    json({ v: 1, value: { sandbox: { containerId: 'c' } } }, 'x'),
    (data) => void decoded('lease:c', data.toString()),
  ),
  reader(
    'terway-database',
    'Terway’s database on this node',
    [bucketFile('relation', new Map([['ns/web-0', Buffer.from('{"Resources":[]}')]]))],
    (data) => void readBucket(data, 'relation'),
    (thrown) => thrown instanceof BoltError,
  ),
  reader(
    'terway-record',
    'a record in it',
    json({ PodInfo: { Namespace: 'ns', Name: 'web-0' }, Resources: [{ Type: 'eniIp', ID: `${mac}.10.0.0.4` }] }),
    (data) => void parseTerwayRecord('ns/web-0', data.toString()),
    (thrown) => thrown instanceof RangeError,
  ),
  reader(
    'terway-reply',
    'the answer of Terway’s daemon to the plugin',
    [encodeMessage(backendMessages.AllocIP.reply, fullReply)],
    (data) => void decodeMessage(backendMessages.AllocIP.reply, data),
    (thrown) => thrown instanceof RangeError,
  ),
  reader(
    'grpc-frames',
    'what a caller sends over gRPC, before HTTP/2 reads it',
    [
      Buffer.concat([
        Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'),
        Buffer.from('0000000400000000000000080104000000018341032f612f9f00000000010000000000', 'hex'),
      ]),
    ],
    (data) => void new ClientFrames().read(data),
  ),
  netlink(
    'datagram',
    [
      encodeRequest(createVeth({ ...end, peer: end, peerNetnsFd: 3 }), 1),
      Buffer.from('2400000002000000010000000100000000000000', 'hex'),
    ],
    decodeMessages,
  ),
  netlink('link', bodies(createVeth({ ...end, peer: end, peerNetnsFd: 3 })), decodeLink),
  netlink('address', bodies(addAddr({ linkIndex: 1, ip: '10.0.0.4', prefix: 32 })), decodeAddr),
  netlink(
    'route',
    bodies(addRoute({ family: 4, destination: { ip: '10.0.0.4', prefix: 32 }, table: 254, linkIndex: 1 })),
    decodeRoute,
  ),
  netlink(
    'rule',
    bodies(addRule({ family: 4, priority: 512, table: 1003, source: { ip: '10.0.0.4', prefix: 32 } })),
    decodeRule,
  ),
  netlink('neighbour', bodies(setNeighbour({ linkIndex: 1, ip: '10.0.0.4', mac })), decodeNeighbour),
  netlink('qdisc', bodies(replaceTokenBucket({ linkIndex: 1, rate: 1000, burst: 100, limit: 1000 })), decodeQdisc),
  netlink(
    'filter-rule',
    bodies(
      ...replaceTable({
        name: 'enactor',
        comment: 'c',
        chains: [{ name: 'x', type: 'filter', hook: 'prerouting', priority: 0, rules: [[]] }],
      }),
    ),
    decodeNftRule,
  ),
  netlink('connection', bodies(dumpAllConnections(4)), (body) => decodeConnection(4, body)),
];
