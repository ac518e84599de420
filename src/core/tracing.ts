/** What travels over Terway's tracing service, in the words of its proto (src/adapters/grpc/tracing.proto). */
export type KeyValue = { readonly Key: string; readonly Value: string };

export type ResourceMapping = {
  readonly NetworkInterfaceID?: string;
  readonly MAC?: string;
  readonly Type?: string;
  readonly AllocInhibitExpireAt?: string;
  readonly Status?: string;
  readonly Info?: readonly string[];
};

export type ResourceDBEntry = {
  readonly pod_name?: string;
  readonly pod_namespace?: string;
  readonly eni_id?: string;
  readonly eni_mac?: string;
  readonly ipv4?: string;
  readonly ipv6?: string;
  readonly type?: string;
};

export type ResourceMappingReply = {
  readonly info?: readonly ResourceMapping[];
  readonly resource_db?: readonly ResourceDBEntry[];
};
