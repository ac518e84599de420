/** RTM_*RULE. Source: linux/fib_rules.h. */
import { type Family, ipBytes, ipFromBytes } from '../../../core/ip.ts';
import type { NewRule, Rule, RuleMatch } from '../rule.ts';
import { attribute, attributes, textAttribute, textOf, u32Attribute, u32Of } from './attribute.ts';
import { afOf, familyOfAf } from './family.ts';
import { bodyAt, CREATE, DUMP, ECHO, EXCLUSIVE, messageBounds, type Request } from './message.ts';

const RTM_NEWRULE = 32;
const RTM_DELRULE = 33;
const RTM_GETRULE = 34;
const FRA_DST = 1;
const FRA_SRC = 2;
const FRA_IIFNAME = 3;
const FRA_PRIORITY = 6;
const FRA_FWMARK = 10;
const FRA_TABLE = 15;
const FRA_FWMASK = 16;
const FR_ACT_TO_TBL = 1;
const FIB_RULE_INVERT = 0x2;
/** TUN_ID, OIFNAME, L3MDEV, UID_RANGE, IP_PROTO, SPORT_RANGE, DPORT_RANGE: the kernel tells only those that are set. */
const NARROWING = [12, 17, 19, 20, 22, 23, 24];
const HEADER_BYTES = 12;

/** EEXIST when the same rule is there already (kernels before 4.17 add it twice). */
export function addRule(rule: NewRule): Request {
  return write(RTM_NEWRULE, CREATE | EXCLUSIVE, rule, 'add rule');
}

/** Deletes the first rule that matches; ENOENT when none does. */
export function deleteRule(match: RuleMatch): Request {
  return write(RTM_DELRULE, 0, match, 'delete rule');
}

/**
 * Deletes the first rule that looks up a table, whichever, and matches; ENOENT when none does. What was deleted comes back as the answer's data.
 * Source: net/core/fib_rules.c, notify_rule_change with NLM_F_ECHO.
 */
export function takeRule(match: Omit<RuleMatch, 'table'>): Request {
  const request = deleteRule(match);
  const body = Buffer.from(request.body);
  body[7] = FR_ACT_TO_TBL;
  return { ...request, body, flags: ECHO };
}

/** Puts back what takeRule() has answered with, behind those of its priority. */
export function putBackRule(taken: Buffer): Request {
  return { type: RTM_NEWRULE, flags: CREATE, body: taken, operation: 'put back rule', object: 'as it was' };
}

/** Of a list's datagram the rules whose bytes have one of these addresses' in them; no other is decoded, and none that looks up no table. */
export function rulesNaming(addresses: readonly Buffer[], datagram: Buffer): Rule[] {
  const found: Rule[] = [];
  if (!addresses.some((one) => datagram.includes(one))) return found;
  for (const { at, end } of messageBounds(datagram)) {
    const body = bodyAt(datagram, at, end);
    if (!addresses.some((one) => body.includes(one))) continue;
    const rule = decodeRule(body);
    if (rule !== null) found.push(rule);
  }
  return found;
}

/** Whether all rules of the datagram, and therefore all that follow, have a later priority. */
export function beginsBeyond(datagram: Buffer, priority: number): boolean {
  for (const { at, end } of messageBounds(datagram)) {
    const first = u32Of(attributes(bodyAt(datagram, at, end), HEADER_BYTES).get(FRA_PRIORITY)) ?? 0;
    return first > priority;
  }
  return false;
}

export function dumpRules(family: Family): Request {
  const body = Buffer.alloc(HEADER_BYTES);
  body[0] = afOf(family);
  return { type: RTM_GETRULE, flags: DUMP, body, operation: 'list rules', object: '' };
}

/** null for rules that look up no table (goto, blackhole, …). */
export function decodeRule(body: Buffer): Rule | null {
  if (body.readUInt8(7) !== FR_ACT_TO_TBL) return null;
  const found = attributes(body, HEADER_BYTES);
  const prefix = (payload: Buffer | undefined, length: number): Rule['source'] =>
    payload === undefined || length === 0 ? null : { ip: ipFromBytes(payload), prefix: length };
  return {
    family: familyOfAf(body.readUInt8(0)),
    priority: u32Of(found.get(FRA_PRIORITY)) ?? 0,
    table: u32Of(found.get(FRA_TABLE)) ?? body.readUInt8(4),
    destination: prefix(found.get(FRA_DST), body.readUInt8(1)),
    source: prefix(found.get(FRA_SRC), body.readUInt8(2)),
    incoming: textOf(found.get(FRA_IIFNAME)),
    mark: markIn(u32Of(found.get(FRA_FWMARK)), u32Of(found.get(FRA_FWMASK))),
    narrower:
      body.readUInt8(3) !== 0 || // TOS
      (body.readUInt32LE(8) & FIB_RULE_INVERT) !== 0 ||
      NARROWING.some((type) => found.has(type)),
  };
}

/** The kernel tells both, or neither; a mark without a mask is all of it. */
function markIn(value: number | null, mask: number | null): Rule['mark'] {
  if (value === null && mask === null) return null;
  return { value: value ?? 0, mask: mask ?? 0xffff_ffff };
}

export function ruleText(rule: RuleMatch): string {
  const parts = [rule.priority === undefined ? 'any priority' : `${rule.priority}`];
  if (rule.source) parts.push(`from ${rule.source.ip}/${rule.source.prefix}`);
  if (rule.destination) parts.push(`to ${rule.destination.ip}/${rule.destination.prefix}`);
  if (rule.incoming) parts.push(`iif ${rule.incoming}`);
  if (rule.mark) parts.push(`fwmark 0x${rule.mark.value.toString(16)}/0x${rule.mark.mask.toString(16)}`);
  if (rule.table !== undefined) parts.push(`lookup ${rule.table}`);
  return parts.join(' ');
}

function write(type: number, flags: number, rule: RuleMatch, operation: string): Request {
  const header = Buffer.alloc(HEADER_BYTES); // struct fib_rule_hdr
  header[0] = afOf(rule.family);
  header[1] = rule.destination?.prefix ?? 0;
  header[2] = rule.source?.prefix ?? 0;
  header[4] = rule.table === undefined || rule.table > 255 ? 0 : rule.table;
  header[7] = rule.table === undefined ? 0 : FR_ACT_TO_TBL;
  const parts: Buffer[] = [header];
  if (rule.destination) parts.push(attribute(FRA_DST, ipBytes(rule.destination.ip)));
  if (rule.source) parts.push(attribute(FRA_SRC, ipBytes(rule.source.ip)));
  if (rule.incoming) parts.push(textAttribute(FRA_IIFNAME, rule.incoming));
  if (rule.mark) parts.push(u32Attribute(FRA_FWMARK, rule.mark.value), u32Attribute(FRA_FWMASK, rule.mark.mask));
  if (rule.priority !== undefined) parts.push(u32Attribute(FRA_PRIORITY, rule.priority));
  if (rule.table !== undefined) parts.push(u32Attribute(FRA_TABLE, rule.table));
  return { type, flags, body: Buffer.concat(parts), operation, object: ruleText(rule) };
}
