/** What an rtnetlink message of a multicast group tells: which list changed, and how. Source: rtnetlink(7); linux/rtnetlink.h. */
import type { Addr } from '../addr.ts';
import type { Link } from '../link.ts';
import type { Route } from '../route.ts';
import type { Rule } from '../rule.ts';
import { decodeAddr } from './addr.ts';
import { decodeLink } from './link.ts';
import { decodeRoute } from './route.ts';
import { decodeRule } from './rule.ts';

export type Change =
  | { readonly what: 'link'; readonly gone: boolean; readonly link: Link }
  | { readonly what: 'addr'; readonly gone: boolean; readonly addr: Addr }
  | { readonly what: 'route'; readonly gone: boolean; readonly route: Route }
  | { readonly what: 'rule'; readonly gone: boolean; readonly rule: Rule };

/** Of the 32 groups that a bind can name: links, and addresses, routes and rules of both families. */
export const CHANGE_GROUPS = 0x1 | 0x10 | 0x40 | 0x80 | 0x100 | 0x400 | 0x4_0000;

/** null for what is none of these. */
export function decodeChange(type: number, body: Buffer): Change | null {
  const gone = (type & 1) === 1; // each list has NEW at a multiple of four, and DEL right after it
  switch (type) {
    case 16:
    case 17:
      return { what: 'link', gone, link: decodeLink(body) };
    case 20:
    case 21:
      return { what: 'addr', gone, addr: decodeAddr(body) };
    case 24:
    case 25: {
      const route = decodeRoute(body);
      return route === null ? null : { what: 'route', gone, route };
    }
    case 32:
    case 33: {
      const rule = decodeRule(body);
      return rule === null ? null : { what: 'rule', gone, rule };
    }
    default:
      return null;
  }
}
