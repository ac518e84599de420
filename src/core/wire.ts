/**
 * The messages between plugin and daemon, in their JSON form: proto names, uint64 as strings, enums as numbers.
 *
 * Terway's fields keep their numbers and meaning; what they lack has field numbers from 1000 (src/adapters/grpc/rpc.proto).
 * Source: Terway rpc.proto; proto3 JSON mapping; Connect protocol, unary requests.
 */

export type IPSet = { readonly IPv4?: string; readonly IPv6?: string };

/** TypeVPCIP 0 is the proto default: an empty reply reads as VPCIP. */
export const IP_TYPE = { vpcIp: 0, vpcEni: 1, eniMultiIp: 2 } as const;

export type AllocIPRequest = {
  readonly K8sPodName: string;
  readonly K8sPodNamespace: string;
  /** The container id that names the sandbox: our plugin sends CNI_CONTAINERID, Terway's K8S_POD_INFRA_CONTAINER_ID. */
  readonly K8sPodInfraContainerId: string;
  readonly Netns: string;
  readonly IfName: string;
  readonly NetworkName?: string; // 1001
  readonly PodUid?: string; // 1002
};

export type NetConf = {
  readonly BasicInfo?: {
    readonly PodIP?: IPSet;
    readonly PodCIDR?: IPSet;
    readonly GatewayIP?: IPSet;
    readonly ServiceCIDR?: IPSet;
  };
  readonly ENIInfo?: {
    readonly MAC?: string;
    readonly Trunk?: boolean;
    readonly Vid?: number;
    readonly GatewayIP?: IPSet;
    readonly eRDMA?: boolean;
    readonly VfId?: number;
    /** The table with the default route through this ENI. */
    readonly RouteTable?: number; // 1000
    readonly DeviceName?: string; // 1001
    readonly Mtu?: number; // 1002
  };
  readonly Pod?: { readonly Ingress?: string; readonly Egress?: string; readonly NetworkPriority?: string };
  readonly IfName?: string;
  readonly ExtraRoutes?: readonly { readonly Dst?: string }[];
  readonly DefaultRoute?: boolean;
};

export type AllocIPReply = {
  readonly Success?: boolean;
  readonly IPType?: number;
  readonly IPv4?: boolean;
  readonly IPv6?: boolean;
  readonly NetConfs?: readonly NetConf[];
};

export type ReleaseIPRequest = {
  readonly K8sPodName: string;
  readonly K8sPodNamespace: string;
  readonly K8sPodInfraContainerId: string;
  readonly IPType?: number;
  readonly IPv4Addr?: IPSet;
  readonly MacAddr?: string;
  readonly Reason?: string;
  readonly IfName?: string; // 1000
  readonly NetworkName?: string; // 1001
  readonly PodUid?: string; // 1002
  /** Where the runtime says its namespace is; absent: it does not know any more. */
  readonly Netns?: string; // 1003
  /** What that namespace has on the interface, from whoever was asked for it (`Unnamed`). */
  readonly PodIPs?: readonly string[]; // 1004
};

export type ReleaseIPReply = {
  readonly Success?: boolean;
  readonly IPv4Addr?: IPSet;
  readonly DeviceNumber?: number;
  readonly IPv4?: boolean;
  readonly IPv6?: boolean;
  /** What the sandbox held, so that the plugin can take its rules away; empty when nothing was known. */
  readonly NetConfs?: readonly NetConf[]; // 1000
  readonly IPType?: number; // 1001
  /** Nothing was released, and the pod has a sandbox of which nobody wrote down the container id: `PodIPs` would tell whether it is this one. */
  readonly Unnamed?: boolean; // 1002
};

export type GetInfoRequest = {
  readonly K8sPodName: string;
  readonly K8sPodNamespace: string;
  readonly K8sPodInfraContainerId: string;
  readonly IfName?: string; // 1000
  readonly Netns?: string; // 1001
  /** As at ReleaseIP. */
  readonly PodIPs?: readonly string[]; // 1002
};

export type GetInfoReply = {
  readonly IPType?: number;
  readonly Success?: boolean;
  readonly IPv4?: boolean;
  readonly IPv6?: boolean;
  readonly NetConfs?: readonly NetConf[];
  readonly Error?: number;
  /** The name that the sandbox has for the daemon, where that is not the container id that was asked for. */
  readonly ContainerId?: string; // 1000
};

export type EventRequest = {
  readonly EventTarget?: number; // 0 node, 1 pod
  readonly K8sPodName?: string;
  readonly K8sPodNamespace?: string;
  readonly EventType?: number; // 0 Normal, 1 Warning
  readonly Reason?: string;
  readonly Message?: string;
};

export type EventReply = { readonly Succeed?: boolean; readonly Error?: string };

/** An attachment as the runtime names it. */
export type Attachment = { readonly ContainerId: string; readonly IfName: string };

/** Of one network (the name in the CNI configuration), everything but these is to go. Source: CNI SPEC 1.1, GC. */
export type GcRequest = { readonly NetworkName: string; readonly ValidAttachments: readonly Attachment[] };

export type GcReply = {
  /** What was released, so that the plugin can take its objects off the host. */
  readonly Released?: readonly (Attachment & {
    readonly K8sPodNamespace?: string;
    readonly K8sPodName?: string;
    readonly PodUid?: string;
    readonly IPs?: readonly string[];
    /** Where its namespace was, which may be there yet; absent: nobody told. */
    readonly Netns?: string;
    /** MACs of the ENIs that it had alone, whose devices are in its namespace. */
    readonly OwnMacs?: readonly string[];
  })[];
};

export type StatusRequest = { readonly NetworkName?: string };

/** Whether an ADD could work now. Source: CNI SPEC 1.1, STATUS. */
export type StatusReply = {
  /** 0: it could; 50: it could not; 51: nor do existing pods have their whole network. */
  readonly Code?: number;
  readonly Message?: string;
  /** It comes and goes with a restart: a node that could serve a moment ago is given time. */
  readonly Passing?: boolean;
};

/** A sandbox as the runtime names it. Source: CNI SPEC 1.1, CHECK. */
export type CheckRequest = { readonly ContainerId: string; readonly IfName?: string };

/** What is wrong with what the sandbox was given, in sentences; absent or empty: nothing that the daemon knows of. */
export type CheckReply = { readonly Problems?: readonly string[] };

/** Method name -> request and reply; the path of the JSON form is `/<service>/<method>`. */
export type BackendMethods = {
  readonly AllocIP: { readonly request: AllocIPRequest; readonly reply: AllocIPReply };
  readonly ReleaseIP: { readonly request: ReleaseIPRequest; readonly reply: ReleaseIPReply };
  readonly GetIPInfo: { readonly request: GetInfoRequest; readonly reply: GetInfoReply };
  readonly RecordEvent: { readonly request: EventRequest; readonly reply: EventReply };
  readonly Gc: { readonly request: GcRequest; readonly reply: GcReply };
  readonly Status: { readonly request: StatusRequest; readonly reply: StatusReply };
  readonly Check: { readonly request: CheckRequest; readonly reply: CheckReply };
};
export type BackendMethod = keyof BackendMethods;

export const BACKEND_SERVICE = 'rpc.TerwayBackend';
/** What Terway has not. */
export const NODE_SERVICE = 'enactor.v1.Node';

export const serviceOf: Readonly<Record<BackendMethod, string>> = {
  AllocIP: BACKEND_SERVICE,
  ReleaseIP: BACKEND_SERVICE,
  GetIPInfo: BACKEND_SERVICE,
  RecordEvent: BACKEND_SERVICE,
  Gc: NODE_SERVICE,
  Status: NODE_SERVICE,
  Check: NODE_SERVICE,
};

/** Connect's error body; `code` is the gRPC status in snake case. Source: Connect protocol, "Error End-Stream/Unary". */
export type WireError = { readonly code: string; readonly message: string; readonly details?: readonly unknown[] };
