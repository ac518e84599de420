/**
 * The reason without what wraps it for the runtime: `code: X, msg: ` before it, the name of the call behind. Kubelet's events keep the
 * whole text; people at a terminal need the sentence.
 */
export function plainReason(text: string): string {
  if (text.includes('cni plugin not initialized')) return 'the node’s daemon has not installed the network yet';
  return text
    .replace(/^code: \w+, msg: /, '')
    .replace(/: AllocIP failed: \w+$/, '')
    .trim();
}
