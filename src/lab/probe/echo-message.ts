/** What probes and their answers say to each other. */
type Message =
  | { readonly probe: number }
  | {
      readonly answer: number;
      /** The source address that the probe was seen with. */
      readonly seen: string;
      /** The name of the place that answers. */
      readonly place: string | null;
    };

export function encode(message: Message): string {
  return JSON.stringify(message);
}

/** null for what is no such message. */
export function decode(bytes: Buffer): Message | null {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'));
    if (typeof value !== 'object' || value === null) return null;
    if ('probe' in value && typeof value.probe === 'number') return { probe: value.probe };
    if ('answer' in value && typeof value.answer === 'number' && 'seen' in value && typeof value.seen === 'string') {
      const place = 'place' in value && typeof value.place === 'string' ? value.place : null;
      return { answer: value.answer, seen: value.seen, place };
    }
    return null;
  } catch {
    return null;
  }
}
