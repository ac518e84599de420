import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import t from 'tap';
import { parseFlags } from '../../src/daemon/flags.ts';

const base = ['--node-name', 'node-1'];

t.test('flags: the defaults are the places of the design', async (t) => {
  t.match(parseFlags(base), {
    config: '/etc/eni/eni_conf',
    nodeName: 'node-1',
    dataDir: '/var/lib/cni/enactor',
    grpcSocket: '/var/run/eni/eni.socket',
    jsonSocket: '/var/run/eni/enactor.socket',
    debugSocket: '/var/run/eni/eni_debug.socket',
    lockFile: '/var/run/eni/terwayd.lock',
    kubeconfig: null,
    metadataUrl: 'http://100.100.100.200',
    ecsEndpoint: null,
    vpcEndpoint: null,
    cloudScheme: 'https',
    cniConfDir: '/etc/cni/net.d',
    logLevel: null,
  });
  t.equal(parseFlags([...base, '--cni-conf-dir', '']).cniConfDir, null);
});

t.test('flags: where Prometheus may ask is an address with a port, or nowhere', async (t) => {
  const of = (value: string) => parseFlags([...base, '--metrics-listen', value]).metricsListen;
  t.equal(parseFlags(base).metricsListen, null);
  t.strictSame(of('10.0.0.5:9781'), { host: '10.0.0.5', port: 9781 });
  t.strictSame(of('[fd00::5]:9781'), { host: 'fd00::5', port: 9781 });
  t.strictSame(of(':9781'), { host: '::', port: 9781 });
  for (const bad of ['9781', 'a:b', '10.0.0.5:70000', 'fd00::5:9781', '10.0.0.5:'])
    t.throws(() => of(bad), { message: /--metrics-listen/ }, bad);
});

t.test('flags: each tells its value and where that comes from', async (t) => {
  process.env.NODE_NAME = 'from-env';
  t.teardown(() => delete process.env.NODE_NAME);
  const { told } = parseFlags(['--log-level', 'debug']);
  const of = (flag: string) => told.find((one) => one.flag === flag);
  t.strictSame(of('--node-name'), { flag: '--node-name', value: 'from-env', source: 'environment' });
  t.strictSame(of('--log-level'), { flag: '--log-level', value: 'debug', source: 'flag' });
  t.strictSame(of('--cloud-scheme'), { flag: '--cloud-scheme', value: 'https', source: 'default' });
  t.match(of('--kubeconfig'), { value: '', source: 'default' });
});

t.test('flags: a relative path becomes the absolute one that everybody else needs', async (t) => {
  t.equal(parseFlags([...base, '--json-socket', 'e.sock']).jsonSocket, `${process.cwd()}/e.sock`);
});

t.test('flags: what cannot be is refused by the flag’s name', async (t) => {
  t.throws(() => parseFlags([...base, '--data-dir', '']), { message: /--data-dir: is empty/ });
  t.throws(() => parseFlags([...base, '--metadata-url', 'nowhere']), { message: /--metadata-url/ });
  t.throws(() => parseFlags([...base, '--json-socket', '/var/run/eni/eni.socket']), { message: /three paths/ });
  const long = `/${'é'.repeat(54)}`;
  t.throws(() => parseFlags([...base, '--grpc-socket', long]), {
    message: new RegExp(`--grpc-socket: socket path ${long} is 109 bytes long; the limit is 107`),
  });
});

const built = resolve(process.env.ENACTOR_DIST ?? 'dist', 'enactord.js');
const skip = existsSync(built) ? false : `${built} is not built`;
t.test(
  'enactord: wrong usage is told in one plain line and exits with 2; --help tells the codes',
  { skip },
  async (t) => {
    const { NODE_NAME: _name, NODE_OPTIONS: _taps, ...env } = process.env;
    const run = (...args: string[]) =>
      spawnSync('env', ['-u', 'NODE_OPTIONS', process.execPath, built, ...args], { encoding: 'utf8', env });
    for (const [args, said] of [
      [[], /^enactord: --node-name: is missing, and NODE_NAME is not set \(--help lists the flags\)\n$/],
      [['--node-nme', 'x'], /^enactord: unknown option '--node-nme' \(Did you mean --node-name\?\)\n$/],
      [['extra'], /^enactord: too many arguments.*\n$/],
      [['--node-name', 'n', '--cloud-scheme', 'ftp'], /^enactord: --cloud-scheme: is none of http, https .*\n$/],
    ] as const) {
      const { status, stderr, stdout } = run(...args);
      t.match(stderr, said);
      t.equal(stdout, '');
      t.equal(status, 2);
    }
    const help = run('--help');
    t.equal(help.status, 0);
    t.match(help.stdout, /2 wrong usage/);
  },
);

t.test(
  'flags: endpoints and the OIDC role may come from the environment by Terway’s and the webhook’s names',
  async (t) => {
    const of = (env: Readonly<Record<string, string>>, ...argv: string[]) => {
      Object.assign(process.env, env);
      try {
        return parseFlags(['--node-name', 'n1', ...argv]);
      } finally {
        for (const name of Object.keys(env)) delete process.env[name];
      }
    };
    t.match(of({}), { ecsEndpoint: null, cloudScheme: 'https', endpointType: 'vpc', oidcRole: null });
    const terway = {
      ECS_ENDPOINT: 'http://10.0.0.1:80/',
      ALICLOUD_CLIENT_SCHEME: 'HTTP',
      ALICLOUD_ENDPOINT_TYPE: 'public',
    };
    t.match(of(terway), { ecsEndpoint: '10.0.0.1:80', cloudScheme: 'http', endpointType: 'public' });
    t.match(of(terway, '--ecs-endpoint', 'other'), { ecsEndpoint: 'other' }, 'a flag wins');
    t.throws(() => of({ ALICLOUD_ENDPOINT_TYPE: 'moon' }), /--endpoint-type: is none of vpc, public/);
    const webhook = {
      ALIBABA_CLOUD_ROLE_ARN: 'acs:role',
      ALIBABA_CLOUD_OIDC_PROVIDER_ARN: 'acs:provider',
      ALIBABA_CLOUD_OIDC_TOKEN_FILE: '/var/run/token',
    };
    const role = { roleArn: 'acs:role', providerArn: 'acs:provider', tokenFile: '/var/run/token' };
    t.strictSame(of(webhook).oidcRole, { ...role, sessionName: 'enactor-n1' });
    t.match(of({ ...webhook, ALIBABA_CLOUD_ROLE_SESSION_NAME: 'me' }).oidcRole, { sessionName: 'me' });
    t.throws(() => of({ ALIBABA_CLOUD_ROLE_ARN: 'acs:role' }), /--oidc-provider-arn: is missing, of the three/);
  },
);
