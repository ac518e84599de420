/** RTM_*QDISC: the token bucket filter at a device's root. Source: rtnetlink(7); linux/pkt_sched.h; net/sched/sch_tbf.c. */
import type { Qdisc, TokenBucket } from '../qdisc.ts';
import { attribute, attributes, textAttribute, textOf, u32Attribute } from './attribute.ts';
import { CREATE, DUMP, REPLACE, type Request } from './message.ts';

const RTM_NEWQDISC = 36;
const RTM_DELQDISC = 37;
const RTM_GETQDISC = 38;
const TCA_KIND = 1;
const TCA_OPTIONS = 2;
const TCA_TBF_PARMS = 1;
const TCA_TBF_RATE64 = 4;
const TCA_TBF_BURST = 6;

const HEADER_BYTES = 20;
const ROOT = 0xffff_ffff;
const HANDLE = 0x0001_0000; // 1:
const ETHERNET = 1; // how long a frame is on the wire; 0 would make the kernel ask for a table of rates
const U32_MAX = 0xffff_ffff;
const PARMS_BYTES = 36;
/** What the kernel counts a nanosecond of a buffer as: it is read only when no burst in bytes comes with it. */
const NANOSECONDS_PER_TICK = 64;

/** What was at the device's root goes. */
export function replaceTokenBucket({ linkIndex, rate, burst, limit }: TokenBucket): Request {
  const parms = Buffer.alloc(PARMS_BYTES); // struct tc_tbf_qopt: rate, peak rate, limit, buffer, mtu
  parms[1] = ETHERNET;
  parms.writeUInt32LE(Math.min(rate, U32_MAX), 8);
  parms.writeUInt32LE(Math.min(limit, U32_MAX), 24);
  parms.writeUInt32LE(Math.min(Math.floor((burst * 1e9) / rate / NANOSECONDS_PER_TICK), U32_MAX), 28);
  const parts = [attribute(TCA_TBF_PARMS, parms), u32Attribute(TCA_TBF_BURST, Math.min(burst, U32_MAX))];
  if (rate > U32_MAX) parts.push(attribute(TCA_TBF_RATE64, u64(rate)));
  const options = attribute(TCA_OPTIONS, Buffer.concat(parts));
  const body = Buffer.concat([header(linkIndex, HANDLE), textAttribute(TCA_KIND, 'tbf'), options]);
  const object = `tbf dev ${linkIndex} rate ${rate} bytes/s`;
  return { type: RTM_NEWQDISC, flags: CREATE | REPLACE, body, operation: 'set queue', object };
}

/** The kernel puts its default in the place. ENOENT when there is none but that. */
export function deleteRootQdisc(linkIndex: number): Request {
  const body = header(linkIndex, 0);
  return { type: RTM_DELQDISC, flags: 0, body, operation: 'delete queue', object: `root dev ${linkIndex}` };
}

/** Of every device: the kernel filters by none. */
export function dumpQdiscs(): Request {
  const body = Buffer.alloc(HEADER_BYTES);
  return { type: RTM_GETQDISC, flags: DUMP, body, operation: 'list queues', object: '' };
}

/** null for one that is not at a root. */
export function decodeQdisc(body: Buffer): Qdisc | null {
  if (body.readUInt32LE(12) !== ROOT) return null;
  const found = attributes(body, HEADER_BYTES);
  const kind = textOf(found.get(TCA_KIND)) ?? '';
  return { linkIndex: body.readInt32LE(4), kind, rate: kind === 'tbf' ? rateIn(found.get(TCA_OPTIONS)) : null };
}

function rateIn(options: Buffer | undefined): number | null {
  if (options === undefined) return null;
  const found = attributes(options);
  const wide = found.get(TCA_TBF_RATE64);
  if (wide !== undefined && wide.length >= 8) return Number(wide.readBigUInt64LE(0));
  const parms = found.get(TCA_TBF_PARMS);
  return parms !== undefined && parms.length >= PARMS_BYTES ? parms.readUInt32LE(8) : null;
}

/** struct tcmsg: family, index, handle, parent, info. */
function header(linkIndex: number, handle: number): Buffer {
  const out = Buffer.alloc(HEADER_BYTES);
  out.writeInt32LE(linkIndex, 4);
  out.writeUInt32LE(handle, 8);
  out.writeUInt32LE(ROOT, 12);
  return out;
}

function u64(value: number): Buffer {
  const out = Buffer.alloc(8);
  out.writeBigUInt64LE(BigInt(value));
  return out;
}
