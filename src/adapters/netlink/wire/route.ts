/** RTM_*ROUTE. Source: rtnetlink(7); linux/rtnetlink.h. */
import { type Family, familyOf, ipBytes, ipFromBytes } from '../../../core/ip.ts';
import { type NewRoute, type Route, type RouteMatch, SCOPE_GLOBAL } from '../route.ts';
import { attribute, attributes, u32Attribute, u32Of } from './attribute.ts';
import { afOf, familyOfAf } from './family.ts';
import { CREATE, DUMP, EXCLUSIVE, REPLACE, type Request } from './message.ts';

const RTM_NEWROUTE = 24;
const RTM_DELROUTE = 25;
const RTM_GETROUTE = 26;
const RTA_DST = 1;
const RTA_OIF = 4;
const RTA_GATEWAY = 5;
const RTA_PRIORITY = 6;
const RTA_TABLE = 15;
const RTPROT_BOOT = 3; // what `ip route` writes, so that no network manager takes them for its own
const RTN_UNICAST = 1;
const RTNH_F_ONLINK = 4;
const SCOPE_NOWHERE = 255; // on a delete: any scope
const RTM_F_CLONED = 0x200;
const RTM_F_FIB_MATCH = 0x2000;
const HEADER_BYTES = 12;

/** EEXIST when a route to the destination is in the table already, whatever its device. */
export function addRoute(route: NewRoute): Request {
  return write(RTM_NEWROUTE, CREATE | EXCLUSIVE, route, 'add route');
}

export function replaceRoute(route: NewRoute): Request {
  return write(RTM_NEWROUTE, CREATE | REPLACE, route, 'replace route');
}

/** ESRCH when nothing matches. */
export function deleteRoute(match: RouteMatch): Request {
  const parts = [header(match, { scope: SCOPE_NOWHERE, protocol: 0, type: 0, flags: 0 }), ...selectors(match)];
  return {
    type: RTM_DELROUTE,
    flags: 0,
    body: Buffer.concat(parts),
    operation: 'delete route',
    object: routeText(match),
  };
}

/** Null lists all tables, or all devices; kernels before 4.20 list all anyway, so the caller filters too. */
export function dumpRoutes(family: Family, table: number | null, linkIndex: number | null = null): Request {
  const parts = [header({ family, destination: null, table: 0 }, { scope: 0, protocol: 0, type: 0, flags: 0 })];
  if (table !== null) parts.push(u32Attribute(RTA_TABLE, table));
  if (linkIndex !== null) parts.push(u32Attribute(RTA_OIF, linkIndex));
  return { type: RTM_GETROUTE, flags: DUMP, body: Buffer.concat(parts), operation: 'list routes', object: '' };
}

/**
 * The entry of a table that a packet to the address would take, not the route made from it. ENETUNREACH when there is none.
 * Source: rtnetlink, RTM_F_FIB_MATCH (Linux 4.13).
 */
export function matchRoute(ip: string): Request {
  const family = familyOf(ip);
  const destination = { ip, prefix: 8 * ipBytes(ip).length };
  const fields = { scope: 0, protocol: 0, type: 0, flags: RTM_F_FIB_MATCH };
  const body = Buffer.concat([header({ family, destination, table: 0 }, fields), attribute(RTA_DST, ipBytes(ip))]);
  return { type: RTM_GETROUTE, flags: 0, body, operation: 'look up route', object: ip };
}

/** null for what is no entry of a table (IPv6 cache entries in a dump). */
export function decodeRoute(body: Buffer): Route | null {
  const flags = body.readUInt32LE(8);
  if ((flags & RTM_F_CLONED) !== 0) return null;
  const found = attributes(body, HEADER_BYTES);
  const destination = found.get(RTA_DST);
  const gateway = found.get(RTA_GATEWAY);
  const family = familyOfAf(body.readUInt8(0));
  const prefix = body.readUInt8(1);
  return {
    family,
    destination: destination === undefined || prefix === 0 ? null : { ip: ipFromBytes(destination), prefix },
    table: u32Of(found.get(RTA_TABLE)) ?? body.readUInt8(4),
    gateway: gateway === undefined ? null : ipFromBytes(gateway),
    linkIndex: u32Of(found.get(RTA_OIF)),
    scope: body.readUInt8(6),
    onLink: (flags & RTNH_F_ONLINK) !== 0,
    protocol: body.readUInt8(5),
    metric: u32Of(found.get(RTA_PRIORITY)) ?? 0,
  };
}

export function routeText(route: RouteMatch): string {
  const { destination } = route;
  const to =
    destination === null ? `default${route.family === 6 ? ' (IPv6)' : ''}` : `${destination.ip}/${destination.prefix}`;
  const via = route.gateway ? ` via ${route.gateway}` : '';
  const dev = route.linkIndex ? ` dev ${route.linkIndex}` : '';
  return `${to}${via}${dev} table ${route.table}`;
}

function write(type: number, flags: number, route: NewRoute, operation: string): Request {
  const fields = {
    scope: route.scope ?? SCOPE_GLOBAL,
    protocol: RTPROT_BOOT,
    type: RTN_UNICAST,
    flags: route.onLink === true ? RTNH_F_ONLINK : 0,
  };
  return {
    type,
    flags,
    body: Buffer.concat([header(route, fields), ...selectors(route)]),
    operation,
    object: routeText(route),
  };
}

type Fields = { readonly scope: number; readonly protocol: number; readonly type: number; readonly flags: number };

/** struct rtmsg. Tables above 255 do not fit its byte and go into RTA_TABLE. */
function header(route: Pick<RouteMatch, 'family' | 'destination' | 'table'>, fields: Fields): Buffer {
  const out = Buffer.alloc(HEADER_BYTES);
  out[0] = afOf(route.family);
  out[1] = route.destination?.prefix ?? 0;
  out[4] = route.table > 255 ? 0 : route.table;
  out[5] = fields.protocol;
  out[6] = fields.scope;
  out[7] = fields.type;
  out.writeUInt32LE(fields.flags, 8);
  return out;
}

function selectors(route: RouteMatch): Buffer[] {
  const parts: Buffer[] = [];
  if (route.destination !== null) parts.push(attribute(RTA_DST, ipBytes(route.destination.ip)));
  if (route.gateway) parts.push(attribute(RTA_GATEWAY, ipBytes(route.gateway)));
  if (route.linkIndex) parts.push(u32Attribute(RTA_OIF, route.linkIndex));
  if (route.metric) parts.push(u32Attribute(RTA_PRIORITY, route.metric));
  parts.push(u32Attribute(RTA_TABLE, route.table));
  return parts;
}
