import type { Family } from '../../core/ip.ts';

export const TABLE_MAIN = 254;
export const TABLE_LOCAL = 255;
export const SCOPE_GLOBAL = 0;
export const SCOPE_LINK = 253;

/** Source: linux/rtnetlink.h. */
export const PROTOCOL_RA = 9;
export const PROTOCOL_DHCP = 16;

export type Route = {
  readonly family: Family;
  /** null is the default route. */
  readonly destination: { readonly ip: string; readonly prefix: number } | null;
  readonly table: number;
  readonly gateway: string | null;
  readonly linkIndex: number | null;
  readonly scope: number;
  /** The gateway is reached through `linkIndex` although no route says so. */
  readonly onLink: boolean;
  /** Who made it, as they say themselves (RTPROT_*): 2 the kernel, 3 `ip`, 16 a DHCP client. */
  readonly protocol: number;
  /** 0 where none is told. */
  readonly metric: number;
};

export type NewRoute = Omit<Route, 'gateway' | 'onLink' | 'scope' | 'protocol' | 'metric'> &
  Partial<Pick<Route, 'gateway' | 'onLink' | 'scope'>>;

/** What is absent matches anything. */
export type RouteMatch = Pick<Route, 'family' | 'destination' | 'table'> &
  Partial<Pick<Route, 'linkIndex' | 'gateway' | 'metric'>>;
