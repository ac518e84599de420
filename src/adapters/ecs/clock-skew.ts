/**
 * How far the cloud's clock is from the node's, by the Date header of its answers.
 *
 * Calls are signed with the node's time and refused when that is 15 minutes off. The SDK keeps the headers of a refusal to itself, so
 * then the endpoint is asked once more, without a signature: any answer has the header.
 * Source: OpenAPI gateway, `InvalidTimeStamp.Expired`; RFC 9110, Date: whole seconds.
 */
import { skewSentence } from '../../core/clock-skew-sentence.ts';
import { CloudError } from '../../ports/cloud.ts';

const PROBE_TIMEOUT_MS = 3_000;
/** Half of what the header leaves away. */
const HALF_SECOND_MS = 500;

export class ClockSkew {
  readonly #nowMs: () => number;
  #skewMs: number | null = null;

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs;
  }

  /** By how much the cloud's clock is ahead of ours, to about a second; negative: behind. null: not known yet. */
  get skewMs(): number | null {
    return this.#skewMs;
  }

  note(date: string | null | undefined): void {
    const atMs = Date.parse(date ?? '');
    if (!Number.isNaN(atMs)) this.#skewMs = atMs + HALF_SECOND_MS - this.#nowMs();
  }

  /** The refusal with the measured difference added. */
  async explained(refusal: CloudError, url: string): Promise<CloudError> {
    try {
      const answer = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) });
      await answer.body?.cancel();
      this.note(answer.headers.get('date'));
    } catch {
      // Then what was measured last has to do.
    }
    const { code, detail, cloudCode, cause } = refusal;
    const skewMs = this.#skewMs;
    const measured = skewMs === null ? '' : `; ${skewSentence(skewMs)}`;
    return new CloudError(code, `${detail}${measured}`, cloudCode, cause);
  }
}
