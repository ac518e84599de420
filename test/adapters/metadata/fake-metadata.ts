/** A metadata service of a few lines on loopback, whose every answer a test can change. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';

/** A text is a 200; a number is a status without text; `hang` never answers, `reset` tears the connection. */
export type Reply = string | number | 'hang' | 'reset';

export type FakeMetadata = {
  readonly baseUrl: string;
  /** Below `/latest/meta-data/`. */
  readonly leaves: Map<string, Reply>;
  /** `METHOD path` of each request. */
  readonly log: string[];
  /** In place of the built-in token answers; null for those. */
  token: Reply | null;
  /** As the instance setting HttpTokens. */
  required: boolean;
  /** Makes every token so far invalid. */
  expireTokens(): void;
};

const TOKEN = 'x-aliyun-ecs-metadata-token';

export async function fakeMetadata(t: Test, leaves: Readonly<Record<string, Reply>>): Promise<FakeMetadata> {
  const tokens = new Set<string>();
  let serial = 0;
  const server = createServer((request, response) => {
    const reply = answer(request);
    if (reply === 'hang') return;
    if (reply === 'reset') return void response.destroy();
    response.statusCode = typeof reply === 'number' ? reply : 200;
    response.end(typeof reply === 'number' ? '<html>an error page</html>' : reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  const fake: FakeMetadata = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    leaves: new Map(Object.entries(leaves)),
    log: [],
    token: null,
    required: false,
    expireTokens: () => tokens.clear(),
  };
  function answer({ method, url = '', headers }: IncomingMessage): Reply {
    fake.log.push(`${method} ${url}`);
    if (url === '/latest/api/token') return method === 'PUT' ? issue(headers[`${TOKEN}-ttl-seconds`]) : 405;
    const given = headers[TOKEN];
    if (given === undefined && fake.required) return 403;
    if (given !== undefined && !tokens.has(String(given))) return 401;
    return fake.leaves.get(url.replace('/latest/meta-data/', '')) ?? 404;
  }
  function issue(ttl: unknown): Reply {
    if (fake.token !== null) return fake.token;
    if (ttl !== '21600') return 400;
    serial += 1;
    tokens.add(`token-${serial}`);
    return `token-${serial}`;
  }
  return fake;
}

export const IDENTITY = {
  'instance-id': 'i-bp1',
  'instance/instance-type': 'ecs.g7.xlarge',
  'region-id': 'cn-hangzhou',
  'zone-id': 'cn-hangzhou-i',
  'vpc-id': 'vpc-1',
  'vswitch-id': 'vsw-1',
  mac: '00:16:3E:00:00:01',
  'private-ipv4': '192.168.0.10',
};

const MACS = 'network/interfaces/macs/';

export function eniLeaves(mac: string, more: Readonly<Record<string, Reply>> = {}): Record<string, Reply> {
  const leaves = {
    'network-interface-id': `eni-${mac.slice(-2)}`,
    'vswitch-id': 'vsw-1',
    'vswitch-cidr-block': '192.168.0.0/24',
    gateway: '192.168.0.253',
    'primary-ip-address': '192.168.0.20',
    'private-ipv4s': '["192.168.0.20","192.168.0.21"]',
    ...more,
  };
  return Object.fromEntries(Object.entries(leaves).map(([leaf, reply]) => [`${MACS}${mac}/${leaf}`, reply]));
}
