/** `the node's clock is 20m 3s behind the cloud's`. `skewMs`: by how much the cloud's is ahead. */
export function skewSentence(skewMs: number): string {
  const seconds = Math.round(Math.abs(skewMs) / 1_000);
  const minutes = Math.floor(seconds / 60);
  const time = minutes === 0 ? `${seconds}s` : `${minutes}m ${seconds % 60}s`;
  return `the node's clock is ${time} ${skewMs > 0 ? 'behind' : 'ahead of'} the cloud's`;
}
