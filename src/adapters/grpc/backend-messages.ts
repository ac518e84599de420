/** The messages of rpc.proto as tables, for who speaks gRPC without a library (proto-wire.ts). Held against the file itself in the tests. */
import type { BackendMethod } from '../../core/wire.ts';
import type { Field, Fields, Kind } from './proto-wire.ts';

const of =
  (kind: Kind) =>
  (no: number): Field => ({ no, kind });
const [text, bool, number, bigText] = [of('text'), of('bool'), of('number'), of('bigText')];
const listOf = (kind: Kind, no: number): Field => ({ no, kind, list: true });

const ipSet = of({ IPv4: text(1), IPv6: text(2) });
const pod = { K8sPodName: text(1), K8sPodNamespace: text(2), K8sPodInfraContainerId: text(3) };
const netConf: Fields = {
  BasicInfo: of({ PodIP: ipSet(1), PodCIDR: ipSet(2), GatewayIP: ipSet(3), ServiceCIDR: ipSet(4) })(1),
  ENIInfo: of({
    ...{ MAC: text(1), Trunk: bool(2), Vid: number(3), GatewayIP: ipSet(4), eRDMA: bool(5) },
    ...{ VfId: { no: 6, kind: 'number', optional: true } },
    ...{ RouteTable: number(1000), DeviceName: text(1001), Mtu: number(1002) },
  })(2),
  Pod: of({ Ingress: bigText(1), Egress: bigText(2), NetworkPriority: text(3) })(3),
  IfName: text(4),
  ExtraRoutes: listOf({ Dst: text(1) }, 5),
  DefaultRoute: bool(6),
};

/** Methods that Terway's daemon has. */
export type TerwayMethod = Extract<BackendMethod, 'AllocIP' | 'ReleaseIP' | 'GetIPInfo' | 'RecordEvent'>;

export const backendMessages: Readonly<Record<TerwayMethod, { readonly request: Fields; readonly reply: Fields }>> = {
  AllocIP: {
    request: { ...pod, Netns: text(4), IfName: text(5), NetworkName: text(1001), PodUid: text(1002) },
    reply: { Success: bool(1), IPType: number(2), IPv4: bool(3), IPv6: bool(4), NetConfs: listOf(netConf, 5) },
  },
  ReleaseIP: {
    request: {
      ...{ ...pod, IPType: number(4), IPv4Addr: ipSet(5), MacAddr: text(6), Reason: text(7) },
      ...{ IfName: text(1000), NetworkName: text(1001), PodUid: text(1002) },
    },
    reply: {
      ...{ Success: bool(1), IPv4Addr: ipSet(2), DeviceNumber: number(3), IPv4: bool(4), IPv6: bool(5) },
      ...{ NetConfs: listOf(netConf, 1000), IPType: number(1001) },
    },
  },
  GetIPInfo: {
    request: { ...pod, IfName: text(1000) },
    reply: {
      ...{ IPType: number(1), Success: bool(2), IPv4: bool(3), IPv6: bool(4) },
      ...{ NetConfs: listOf(netConf, 5), Error: number(7) },
    },
  },
  RecordEvent: {
    request: {
      ...{ EventTarget: number(1), K8sPodName: text(2), K8sPodNamespace: text(3) },
      ...{ EventType: number(4), Reason: text(5), Message: text(6) },
    },
    reply: { Succeed: bool(1), Error: text(2) },
  },
};
