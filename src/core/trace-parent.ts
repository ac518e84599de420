/**
 * The trace that a request is a part of, as the caller names it; it goes into log lines, so that one search finds a pod's start in all of them.
 * Source: W3C Trace Context, `traceparent`; runtimes hand it to plugins as TRACEPARENT (OpenTelemetry's convention for processes).
 */
const TRACE_PARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** null for what is no trace: it comes from outside, and is written into logs. */
export function traceParentIn(text: string | undefined): string | null {
  return text !== undefined && TRACE_PARENT.test(text) ? text : null;
}
