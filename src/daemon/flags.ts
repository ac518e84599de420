/**
 * The command line. Flags name places (files, sockets, endpoints); limits and periods are the configuration file's. From the environment
 * come NODE_NAME, since that is where a DaemonSet puts it, the endpoints by Terway's names, and what the cluster's OIDC webhook sets. A flag wins.
 *
 * Source: Terway, ECS_ENDPOINT, VPC_ENDPOINT, ALICLOUD_CLIENT_SCHEME (HTTP or HTTPS), ALICLOUD_ENDPOINT_TYPE (public or vpc).
 */

import { resolve } from 'node:path';
import { Command, Option } from 'commander';
import { TERWAY_DATABASE } from '../adapters/bolt/terway-database.ts';
import type { OidcRole } from '../adapters/credentials/oidc-role.ts';
import { ADDON_SECRET_DIR } from '../adapters/credentials/secret-files.ts';
import { ADDON_TOKEN_FILE } from '../adapters/credentials/token-file.ts';
import { BOOT_ID_FILE } from '../adapters/datapath/host-witness.ts';
import type { FlagValue } from '../core/config-report.ts';
import { EnactorError } from '../core/errors.ts';
import { socketPathProblem } from '../core/limits.ts';
import { LOG_LEVELS, type LogLevel } from '../core/log-level.ts';
import { VERSION } from '../core/version.ts';
import { DEFAULT_DATA_DIR } from './compiled-code.ts';

export type Flags = {
  readonly config: string;
  readonly nodeName: string;
  /** Where the overlay is that the node's label names. */
  readonly namespace: string;
  readonly dataDir: string;
  readonly grpcSocket: string;
  readonly jsonSocket: string;
  readonly debugSocket: string;
  /** Where Prometheus may ask over TCP; null: only the debug socket answers. */
  readonly metricsListen: { readonly host: string; readonly port: number } | null;
  readonly lockFile: string;
  /** What Terway's daemon remembered of the pods that it left us; null: there was none. */
  readonly terwayDb: string | null;
  /** Tells one boot of the host from another. */
  readonly bootIdFile: string;
  /** null: the service account of the pod. */
  readonly kubeconfig: string | null;
  readonly metadataUrl: string;
  /** null: the region's endpoint inside the VPC. */
  readonly ecsEndpoint: string | null;
  readonly vpcEndpoint: string | null;
  readonly stsEndpoint: string | null;
  readonly cloudScheme: 'http' | 'https';
  /** Which of the region's endpoints are taken when none is named. */
  readonly endpointType: 'vpc' | 'public';
  /** null: no role is assumed with an OIDC token. */
  readonly oidcRole: OidcRole | null;
  /** Where add-ons mount a key pair, and an encrypted token file. */
  readonly addonSecretDir: string;
  readonly addonTokenFile: string;
  /** null: no CNI configuration is installed. */
  readonly cniConfDir: string | null;
  /** The kubelet's, for device plugins. */
  readonly devicePluginDir: string;
  /** null: as the configuration says. */
  readonly logLevel: LogLevel | null;
  /** The configuration's `read_only`, whatever it says. */
  readonly readOnly: boolean;
  /** Each flag with its value, and where that comes from. */
  readonly told: readonly FlagValue[];
};

const program = () =>
  new Command('enactord')
    .version(VERSION, '--version', 'of this package')
    .description('Gives the pods of this node addresses of the VPC.')
    .option('--config <path>', 'configuration file, JSON', '/etc/eni/eni_conf')
    .addOption(new Option('--node-name <name>', 'this node as the API server knows it').env('NODE_NAME'))
    .addOption(new Option('--namespace <name>', 'of the overlay').env('POD_NAMESPACE').default('kube-system'))
    .option('--data-dir <path>', 'directory of the database and of noted deletions', DEFAULT_DATA_DIR)
    .option('--grpc-socket <path>', 'socket of the gRPC service', '/var/run/eni/eni.socket')
    .option('--json-socket <path>', 'socket of the same service as JSON over HTTP', '/var/run/eni/enactor.socket')
    .option('--debug-socket <path>', 'socket of /v1/report, /v1/health and /v1/config', '/var/run/eni/eni_debug.socket')
    .option(
      '--metrics-listen <host:port>',
      'serves /metrics, /livez and /readyz, and nothing else, over TCP too; default: nowhere',
      '',
    )
    .option('--lock-file <path>', "lock shared with Terway's daemon", '/var/run/eni/terwayd.lock')
    .option('--terway-db <path>', 'Terway\'s records of the pods it left us; "" for none', TERWAY_DATABASE)
    .option('--boot-id-file <path>', 'differs from boot to boot of the host', BOOT_ID_FILE)
    .option('--kubeconfig <path>', 'default: the service account of the pod')
    .option('--metadata-url <url>', 'metadata service of the instance', 'http://100.100.100.200')
    .addOption(new Option('--ecs-endpoint <host:port>', "default: the region's ECS endpoint").env('ECS_ENDPOINT'))
    .addOption(new Option('--vpc-endpoint <host:port>', "default: the region's VPC endpoint").env('VPC_ENDPOINT'))
    .addOption(new Option('--sts-endpoint <host:port>', "default: the region's STS endpoint").env('STS_ENDPOINT'))
    .addOption(new Option('--cloud-scheme <scheme>', 'http or https').env('ALICLOUD_CLIENT_SCHEME').default('https'))
    .addOption(
      new Option('--endpoint-type <type>', 'vpc or public: which of the region')
        .env('ALICLOUD_ENDPOINT_TYPE')
        .default('vpc'),
    )
    .addOption(new Option('--role-arn <arn>', 'role assumed with an OIDC token').env('ALIBABA_CLOUD_ROLE_ARN'))
    .addOption(new Option('--oidc-provider-arn <arn>', 'who issued it').env('ALIBABA_CLOUD_OIDC_PROVIDER_ARN'))
    .addOption(new Option('--oidc-token-file <path>', 'where it is').env('ALIBABA_CLOUD_OIDC_TOKEN_FILE'))
    .addOption(
      new Option('--role-session-name <name>', 'default: enactor-<node>').env('ALIBABA_CLOUD_ROLE_SESSION_NAME'),
    )
    .option('--addon-secret-dir <path>', "where an add-on's key pair is mounted", ADDON_SECRET_DIR)
    .option('--addon-token-file <path>', "an add-on's encrypted credentials", ADDON_TOKEN_FILE)
    .option(
      '--device-plugin-dir <path>',
      "the kubelet's; used with eni_device_plugin",
      '/var/lib/kubelet/device-plugins',
    )
    .option('--cni-conf-dir <path>', 'where 10-enactor.conflist is installed; "" for nowhere', '/etc/cni/net.d')
    .addOption(
      new Option(
        '--log-level <level>',
        'least level that is logged; default: as log_level of the configuration says',
      ).choices(LOG_LEVELS),
    )
    .option('--read-only', 'change nothing in the cloud, and say what would be done; as read_only of the configuration')
    .allowExcessArguments(false)
    .addHelpText('after', '\nExit codes: 0 told to end, 1 could not start, 2 wrong usage, 70 could not go on.')
    .configureOutput({
      outputError: (text, write) =>
        write(
          `enactord: ${text
            .replace(/^error: /, '')
            .trim()
            .replaceAll('\n', ' ')}\n`,
        ),
    })
    .exitOverride();

/** Throws CommanderError after `--help` (exit code 0) and a flag that is not known, told by then; else EnactorError naming the flag. */
export function parseFlags(argv: readonly string[]): Flags {
  const parsed = program().parse(argv, { from: 'user' });
  const given = parsed.opts<Record<string, string | undefined>>();
  const text = (name: string) => given[name] ?? '';
  const path = (name: string, flag: string) => {
    if (text(name) === '') throw refused(flag, 'is empty');
    return resolve(text(name));
  };
  // The plugin has another working directory, so it needs the absolute path, and that is the one that must fit.
  const socket = (name: string, flag: string) => {
    const absolute = path(name, flag);
    const problem = socketPathProblem(absolute);
    if (problem !== null) throw refused(flag, problem);
    return absolute;
  };
  const flags: Flags = {
    config: path('config', '--config'),
    nodeName: text('nodeName'),
    namespace: text('namespace') || 'kube-system',
    dataDir: path('dataDir', '--data-dir'),
    grpcSocket: socket('grpcSocket', '--grpc-socket'),
    jsonSocket: socket('jsonSocket', '--json-socket'),
    debugSocket: socket('debugSocket', '--debug-socket'),
    metricsListen: listenOf('--metrics-listen', text('metricsListen')),
    lockFile: path('lockFile', '--lock-file'),
    terwayDb: text('terwayDb') === '' ? null : resolve(text('terwayDb')),
    bootIdFile: path('bootIdFile', '--boot-id-file'),
    kubeconfig: text('kubeconfig') === '' ? null : resolve(text('kubeconfig')),
    metadataUrl: text('metadataUrl'),
    ecsEndpoint: endpointOf(given.ecsEndpoint),
    vpcEndpoint: endpointOf(given.vpcEndpoint),
    stsEndpoint: endpointOf(given.stsEndpoint),
    cloudScheme: oneOf('--cloud-scheme', text('cloudScheme'), ['http', 'https']),
    endpointType: oneOf('--endpoint-type', text('endpointType'), ['vpc', 'public']),
    oidcRole: oidcRoleOf(given),
    addonSecretDir: path('addonSecretDir', '--addon-secret-dir'),
    addonTokenFile: path('addonTokenFile', '--addon-token-file'),
    devicePluginDir: path('devicePluginDir', '--device-plugin-dir'),
    cniConfDir: text('cniConfDir') === '' ? null : resolve(text('cniConfDir')),
    logLevel: (given.logLevel ?? null) as LogLevel | null, // one of the choices
    readOnly: parsed.getOptionValue('readOnly') === true,
    told: toldBy(parsed),
  };
  if (flags.nodeName === '') throw refused('--node-name', 'is missing, and NODE_NAME is not set');
  if (!URL.canParse(flags.metadataUrl)) throw refused('--metadata-url', 'is no URL');
  if (new Set([flags.grpcSocket, flags.jsonSocket, flags.debugSocket]).size < 3)
    throw refused('--json-socket', 'the three sockets need three paths');
  return Object.freeze(flags);
}

function toldBy(parsed: Command): readonly FlagValue[] {
  return parsed.options.flatMap((option): FlagValue[] => {
    const name = option.attributeName();
    const from = parsed.getOptionValueSource(name);
    const source = from === 'cli' ? 'flag' : from === 'env' ? 'environment' : 'default';
    if (option.long === undefined || option.long === null) return [];
    return [{ flag: option.long, value: String(parsed.getOptionValue(name) ?? ''), source }];
  });
}

/** `host[:port]`, also of a URL, which people write there. Source: Terway, parseURL. */
function endpointOf(given: string | undefined): string | null {
  return given?.replace(/^https?:\/\//, '').replace(/\/.*$/, '') || null;
}

/** `host:port`, an IPv6 address in brackets; no host is every address of the node. Throws EnactorError naming the flag. */
function listenOf(flag: string, given: string): Flags['metricsListen'] {
  if (given === '') return null;
  const [, v6, name = '', digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]\s]*)):(\d{1,5})$/.exec(given) ?? [];
  const port = Number(digits);
  if (digits === undefined || port > 65_535) throw refused(flag, `${given} is no host:port`);
  return { host: v6 ?? (name || '::'), port };
}

/** In either case, since Terway's names have theirs in capitals. */
function oneOf<T extends string>(flag: string, given: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === given.toLowerCase());
  if (found === undefined) throw refused(flag, `is none of ${choices.join(', ')}`);
  return found;
}

/** All three or none. Throws EnactorError naming the one that is missing. */
function oidcRoleOf(given: Readonly<Record<string, string | undefined>>): OidcRole | null {
  const { roleArn = '', oidcProviderArn: providerArn = '', oidcTokenFile: tokenFile = '', nodeName = '' } = given;
  const parts = { '--role-arn': roleArn, '--oidc-provider-arn': providerArn, '--oidc-token-file': tokenFile };
  const missing = Object.entries(parts).filter(([, value]) => value === '');
  if (missing.length === 3) return null;
  const [first] = missing;
  if (first !== undefined) throw refused(first[0], 'is missing, of the three that an OIDC role needs');
  return { roleArn, providerArn, tokenFile, sessionName: given.roleSessionName || `enactor-${nodeName}` };
}

function refused(flag: string, why: string): EnactorError {
  return new EnactorError('invalidArgument', `${flag}: ${why}`);
}
