/**
 * The kernel objects of one pod as iproute2 shows them, without what differs by nature (names, MACs, indices, times): two pods
 * made by two programs are the same when these are equal.
 */
import { execFileSync } from 'node:child_process';

type Row = Readonly<Record<string, unknown>>;

const show = (...args: readonly string[]): readonly Row[] =>
  JSON.parse(
    execFileSync('ip', ['-json', '-4', ...args], { encoding: 'utf8', maxBuffer: 2 ** 28 }) || '[]',
  ) as readonly Row[];

const pick = (row: Row, ...keys: readonly string[]) =>
  Object.fromEntries(keys.filter((key) => row[key] !== undefined).map((key) => [key, row[key]]));

export function podObjects(pod: { readonly netns: string; readonly ip: string }): unknown {
  const inside = (...args: readonly string[]) => show('-n', pod.netns, ...args);
  const routes = show('route', 'show', 'table', 'main').filter((row) => row.dst === pod.ip);
  const rules = show('rule', 'show').filter((row) => row.src === pod.ip || row.dst === pod.ip);
  const hostLink = routes.map((row) => show('-details', 'link', 'show', 'dev', String(row.dev))[0] ?? {});
  const gateway = inside('neighbour', 'show', 'dev', 'eth0', 'nud', 'permanent');
  return {
    hostLink: hostLink.map((row) => pick(row, 'mtu', 'operstate')),
    hostRoutes: routes.map((row) => pick(row, 'dst', 'scope', 'gateway', 'metric')),
    rules: rules.map((row) => pick(row, 'priority', 'src', 'dst', 'srclen', 'dstlen', 'table', 'iif', 'fwmark')),
    podAddresses: inside('address', 'show', 'dev', 'eth0').flatMap((row) =>
      (row.addr_info as readonly Row[]).map((each) => pick(each, 'local', 'prefixlen', 'scope')),
    ),
    podRoutes: inside('route', 'show', 'table', 'main').map((row) =>
      pick(row, 'dst', 'gateway', 'dev', 'flags', 'scope', 'metric'),
    ),
    podNeighbours: gateway.map((row) => ({
      ...pick(row, 'dst', 'state'),
      isHostEnd: row.lladdr === hostLink[0]?.address,
    })),
  };
}
