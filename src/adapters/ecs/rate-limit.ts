/**
 * A token bucket per API: calls wait in the order they came, never fail. One node shares its account's quota with all others,
 * so the limits here only keep one node from eating it alone.
 * Source: Terway's client limits (requests per minute, burst equal); ECS "API throttling": counted per account, region and API.
 */
import { EnactorError } from '../../core/errors.ts';

const DEFAULT_PER_MINUTE = 500;

const perMinute: Readonly<Record<string, number>> = {
  AttachNetworkInterface: 500,
  CreateNetworkInterface: 500,
  DeleteNetworkInterface: 500,
  DetachNetworkInterface: 400,
  DescribeNetworkInterfaces: 800,
  AssignPrivateIpAddresses: 400,
  UnassignPrivateIpAddresses: 400,
  DescribeInstanceTypes: 400,
  DescribeVSwitches: 300,
};

export type RateLimit = { take(api: string, signal: AbortSignal): Promise<void> };

type Bucket = { tokens: number; atMs: number };

/** `overrides` are requests per minute by API name, the config key `rate_limit`. */
export function rateLimit(overrides: Readonly<Record<string, number>>, nowMs: () => number = Date.now): RateLimit {
  const buckets = new Map<string, Bucket>();

  return {
    async take(api, signal) {
      const limit = overrides[api] ?? perMinute[api] ?? DEFAULT_PER_MINUTE;
      const perMs = limit / 60_000;
      const bucket = buckets.get(api) ?? { tokens: limit, atMs: nowMs() };
      buckets.set(api, bucket);
      const now = nowMs();
      bucket.tokens = Math.min(limit, bucket.tokens + Math.max(0, now - bucket.atMs) * perMs) - 1;
      bucket.atMs = now;
      // Below zero the bucket is in debt, and each taker waits out the debt it found: first come, first served.
      if (bucket.tokens >= 0) return;
      try {
        await elapsed(Math.ceil(-bucket.tokens / perMs), signal);
      } catch (cancelled) {
        bucket.tokens += 1;
        throw cancelled;
      }
    },
  };
}

function elapsed(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = () => {
      clearTimeout(timer);
      reject(new EnactorError('cancelled', 'the call was given up while it waited for its turn'));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', cancel);
      resolve();
    }, ms);
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
  });
}
