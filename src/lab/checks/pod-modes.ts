/** The ways in which pods of a lab may be connected, and what each asks of the lab. */
import type { LabOptions } from '../lab.ts';
import { SERVICE_CIDRS } from './service-ranges.ts';

export const POD_MODES = ['veth', 'VPCIP', 'VPCENI', 'ipvlan'] as const;
export type PodMode = (typeof POD_MODES)[number];

/** `veth`: ENIMultiIP by a pair and policy routes, which is what a node has when nobody says otherwise. */
export const LAB_OF_MODE: Readonly<Record<PodMode, Pick<LabOptions, 'mode' | 'config'>>> = {
  veth: {},
  VPCIP: { mode: 'VPC' },
  VPCENI: { mode: 'ENIOnly', config: { service_cidr: `${SERVICE_CIDRS[4]},${SERVICE_CIDRS[6]}` } },
  ipvlan: { config: { eniip_virtual_type: 'IPVlan', service_cidr: `${SERVICE_CIDRS[4]},${SERVICE_CIDRS[6]}` } },
};

/** Pods on the network itself: what is the host's to do goes over a pair of its own. */
export const isDirect = (mode: PodMode): boolean => mode === 'VPCENI' || mode === 'ipvlan';

/** Pods of one node are on ENIs that they share. */
export const sharesEnis = (mode: PodMode): boolean => mode === 'veth' || mode === 'ipvlan';
