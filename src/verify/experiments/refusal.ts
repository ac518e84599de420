/** A call that should be refused: whether it was, and with a code that we know what to do about. */
import { cloudActionOf } from '../../core/cloud-errors.ts';
import type { Finding } from '../finding.ts';
import type { Reply } from '../raw-cloud.ts';

/** `codes`: those that are documented for it, the first one the simulated cloud's. */
export function refusal(name: string, assumed: string, codes: readonly string[], reply: Reply<unknown>): Finding {
  const [ours = ''] = codes;
  const expected = { name, assumed: `${assumed} (${ours})`, settings: null };
  if (reply.ok) return { ...expected, seen: 'not refused', verdict: 'differs' };
  if (codes.includes(reply.code)) return { ...expected, seen: reply.code, verdict: 'agrees' };
  const alike = cloudActionOf(reply.code) === cloudActionOf(ours) ? 'which we treat alike' : 'which we treat otherwise';
  return { ...expected, seen: `${reply.code}, ${alike}`, verdict: 'differs' };
}
