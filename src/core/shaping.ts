/**
 * How fast a pod may send and receive, from what its annotations say. Pure.
 *
 * `kubernetes.io/ingress-bandwidth` and `egress-bandwidth` are quantities in bits per second, those of Terway before them
 * (`k8s.aliyun.com/…`) numbers with a unit in bytes per second, base 1024. Of one direction Kubernetes' annotation counts.
 * A value that cannot be read limits nothing: a pod that runs too fast is better than one that does not run. The reader is told of it.
 * Source: Kubernetes, network plugins, "traffic shaping", and its bounds 1k and 1P; Terway's parsing of its own two.
 */

/** Bytes per second. Absent: no limit. As the pod sees it: ingress is what it receives. */
export type Shaping = { readonly ingress?: number; readonly egress?: number };

type Direction = 'ingress' | 'egress';
const DIRECTIONS: readonly Direction[] = ['ingress', 'egress'];

const BITS_MIN = 1e3;
const BITS_MAX = 1e15;

export type AskedShaping = {
  readonly shaping: Shaping;
  /** One sentence for each annotation that could not be taken. */
  readonly problems: readonly string[];
};

export function shapingOf(annotations: Readonly<Record<string, string>>): AskedShaping {
  const shaping: { ingress?: number; egress?: number } = {};
  const problems: string[] = [];
  for (const direction of DIRECTIONS) {
    for (const { key, read, form } of ANNOTATIONS) {
      const name = `${key}${direction}-bandwidth`;
      const text = annotations[name];
      if (text === undefined || shaping[direction] !== undefined) continue;
      const bytes = read(text.trim());
      if (bytes === null)
        problems.push(`${name}: ${JSON.stringify(text.slice(0, 64))} is not ${form}; no limit is set by it`);
      else shaping[direction] = bytes;
    }
  }
  return { shaping, problems };
}

/** The rates of a runtime, in bits per second; 0 or absent: no limit. Its burst is not taken: ours follows from the rate. */
export function shapingFromBits(rates: { readonly ingress?: number; readonly egress?: number }): Shaping {
  return Object.fromEntries(
    DIRECTIONS.flatMap((direction) => {
      const bits = rates[direction] ?? 0;
      return bits > 0 ? [[direction, bytesOf(bits)]] : [];
    }),
  );
}

export type Bucket = { readonly rate: number; readonly burst: number; readonly limit: number };

/**
 * A millisecond of the rate at once, but at least a frame and a half beside the MTU; what waits longer than 25 ms is dropped.
 * Source: Terway's tbf.
 */
export function bucketOf(rate: number, mtu: number): Bucket {
  const burst = Math.ceil(Math.max(rate / 1000, mtu + 1500));
  return { rate, burst, limit: Math.floor(rate * 0.025) + burst };
}

const ANNOTATIONS = [
  { key: 'kubernetes.io/', read: quantityBytes, form: 'a quantity between 1k and 1P of bits per second, as in 10M' },
  { key: 'k8s.aliyun.com/', read: terwayBytes, form: 'a number with a unit of bytes per second, as in 10MB' },
];

const QUANTITY = /^\+?(\d+(?:\.\d*)?|\.\d+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?\d+)?$/;
const DECIMAL = ['m', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** Source: Kubernetes, resource.Quantity. */
function quantityBytes(text: string): number | null {
  const [, number, suffix = ''] = QUANTITY.exec(text) ?? [];
  if (number === undefined) return null;
  const bits = Number(number) * factorOf(suffix);
  return bits >= BITS_MIN && bits <= BITS_MAX ? bytesOf(bits) : null;
}

function factorOf(suffix: string): number {
  if (/^[eE][+-]?\d/.test(suffix)) return Number(`1${suffix}`);
  const binary = BINARY.indexOf(suffix);
  return binary >= 0 ? 1024 ** (binary + 1) : 1000 ** (DECIMAL.indexOf(suffix) - 1);
}

const TERWAY = /^(\d+(?:\.\d+)?)([KMGT])(?:I?B)?$/;

function terwayBytes(text: string): number | null {
  const [, number, unit = ''] = TERWAY.exec(text.toUpperCase()) ?? [];
  const bytes = number === undefined ? 0 : Math.floor(Number(number) * 1024 ** ('KMGT'.indexOf(unit) + 1));
  return bytes > 0 && bytes <= BITS_MAX / 8 ? bytes : null;
}

function bytesOf(bits: number): number {
  return Math.max(1, Math.floor(bits / 8));
}
