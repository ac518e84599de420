/** Which account and region a command of ours speaks to: a person's key from the environment, or the instance's RAM role. */
import { type Command, Option } from 'commander';
import { ramRoleSource } from '../adapters/credentials/ram-role.ts';
import { RenewingCredentials } from '../adapters/credentials/renewing-credentials.ts';
import { metadataClient } from '../adapters/metadata/metadata-client.ts';
import { metadataService } from '../adapters/metadata/metadata-service.ts';
import { AccessKey, type Credentials } from '../ports/credentials.ts';
import { metadataUrlOption } from './command.ts';
import { CommandError, EXIT } from './exit-codes.ts';

export type AccountOptions = {
  readonly region?: string;
  readonly ecsEndpoint?: string;
  readonly vpcEndpoint?: string;
  readonly endpointType: 'vpc' | 'public';
  readonly scheme: 'http' | 'https';
  readonly metadataUrl: string;
};

export type Account = {
  readonly regionId: string;
  /** This machine's; null: it is no instance, or nobody asked. */
  readonly instanceId: string | null;
  readonly credentials: Credentials;
  readonly scheme: 'http' | 'https';
  /** `host[:port]` */
  readonly ecsEndpoint: string;
  readonly vpcEndpoint: string;
};

export const ACCOUNT_HELP = `
The key is ALIBABA_CLOUD_ACCESS_KEY_ID, _SECRET and, if it has one, ALIBABA_CLOUD_SECURITY_TOKEN; without them, the RAM role of the
instance this runs on.`;

const METADATA_MS = 3_000;

export const withAccount = (command: Command): Command =>
  command
    .option('--region <id>', 'default: that of the instance this runs on, by its metadata')
    .option('--ecs-endpoint <host>', 'default: that of the region')
    .option('--vpc-endpoint <host>', 'default: that of the region')
    .addOption(
      new Option('--endpoint-type <type>', 'which of the region’s').choices(['vpc', 'public']).default('public'),
    )
    .addOption(new Option('--scheme <scheme>', 'http is for a lab').choices(['http', 'https']).default('https'))
    .addOption(metadataUrlOption());

/** Throws CommandError that says what is missing. `here`: whether the instance is of interest, although the region was told. */
export async function accountOf(options: AccountOptions, here: boolean): Promise<Account> {
  const metadata = metadataClient({ baseUrl: options.metadataUrl, tries: 1 });
  const identity =
    options.region === undefined || here
      ? await metadataService(metadata)
          .identity(AbortSignal.timeout(METADATA_MS))
          .catch(() => null)
      : null;
  const regionId = options.region ?? identity?.regionId;
  if (regionId === undefined)
    throw new CommandError(EXIT.usage, `say --region: no metadata service answers at ${options.metadataUrl}`);
  const place = options.endpointType === 'public' ? '' : '-vpc';
  return {
    regionId,
    instanceId: identity?.instanceId ?? null,
    credentials: environmentKey() ?? instanceRole(metadata),
    scheme: options.scheme,
    ecsEndpoint: options.ecsEndpoint ?? `ecs${place}.${regionId}.aliyuncs.com`,
    vpcEndpoint: options.vpcEndpoint ?? `vpc${place}.${regionId}.aliyuncs.com`,
  };
}

/** A person's, which does not end within the command. */
function environmentKey(): Credentials | null {
  const { ALIBABA_CLOUD_ACCESS_KEY_ID: id, ALIBABA_CLOUD_ACCESS_KEY_SECRET: secret } = process.env;
  const { ALIBABA_CLOUD_SECURITY_TOKEN: token } = process.env;
  if (!id && !secret) return null;
  if (!id || !secret)
    throw new CommandError(EXIT.usage, 'set both ALIBABA_CLOUD_ACCESS_KEY_ID and ALIBABA_CLOUD_ACCESS_KEY_SECRET');
  const key = new AccessKey({ accessKeyId: id, accessKeySecret: secret, ...(token ? { securityToken: token } : {}) });
  const report = { source: null, from: 'environment', obtainedMs: null, untilMs: null, failure: null };
  return { current: async () => key, refused: () => {}, report: () => report };
}

function instanceRole(metadata: Parameters<typeof ramRoleSource>[0]): Credentials {
  return new RenewingCredentials({
    sources: [ramRoleSource(metadata, null)],
    clock: { nowMs: () => Date.now() },
    entropy: { fraction: () => Math.random() },
    told: () => {},
  });
}
