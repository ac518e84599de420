/** The node's way to the cloud: metadata, credentials, clock, turns and the API, and what is to be told of them. */
import { CallTurns } from '../adapters/ecs/call-turns.ts';
import { ClockSkew } from '../adapters/ecs/clock-skew.ts';
import { type EcsCloud, ecsCloud } from '../adapters/ecs/ecs-cloud.ts';
import type { OnCall } from '../adapters/ecs/rpc-client.ts';
import type { RootLog } from '../adapters/logging/json-log.ts';
import { metadataClient } from '../adapters/metadata/metadata-client.ts';
import { metadataService } from '../adapters/metadata/metadata-service.ts';
import type { Config } from '../core/config.ts';
import type { Clock } from '../ports/clock.ts';
import type { CloudReport } from '../ports/introspection.ts';
import type { Metadata } from '../ports/metadata.ts';
import type { Flags } from './flags.ts';
import { nodeCredentials } from './node-credentials.ts';
import { Reach } from './reach.ts';

export type CloudAccess = {
  readonly cloud: EcsCloud;
  readonly metadata: Metadata;
  report(): Omit<CloudReport, 'securityGroups'>;
};

export type CloudAccessParts = {
  readonly flags: Flags;
  /** At the start. */
  readonly config: Config;
  /** Those that hold at the moment. */
  readonly rateLimits: () => Config['rateLimits'];
  readonly onCall: OnCall;
  /** Nodes that share the account's limits. */
  readonly fleet: () => number;
  /** Those of them that need addresses now; null: nobody can tell. */
  readonly crowd: (signal: AbortSignal) => Promise<number | null>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: RootLog;
};

export function cloudAccess({
  flags,
  config,
  clock,
  rateLimits,
  onCall,
  fleet,
  crowd,
  log,
}: CloudAccessParts): CloudAccess {
  const [reach, metadataReach] = [new Reach(clock), new Reach(clock)];
  const client = metadataClient({
    baseUrl: flags.metadataUrl,
    heard: (why) => (why === null ? metadataReach.answered() : metadataReach.failed(why)),
  });
  const metadata = metadataService(client);
  const region = async (signal: AbortSignal) => (await metadata.identity(signal)).regionId;
  const credentials = nodeCredentials({
    flags,
    settings: config.credentials,
    metadata: client,
    region,
    log: log.part('credentials'),
  });
  const skew = new ClockSkew();
  const turns = new CallTurns({ rateLimits, minuteMs: config.minuteMs, fleet, crowd });
  const cloud = ecsCloud({
    credentials,
    region,
    ecsEndpoint: flags.ecsEndpoint,
    vpcEndpoint: flags.vpcEndpoint,
    endpointType: flags.endpointType,
    scheme: flags.cloudScheme,
    timeoutMs: config.settings.callTimeoutMs,
    rateLimits,
    skew,
    turns,
    onCall: (api, code, ms, silence) => {
      onCall(api, code, ms, silence);
      if (silence !== null) reach.failed(silence);
      else if (code !== 'cancelled') reach.answered();
    },
  });
  return {
    cloud,
    metadata,
    report: () => ({
      ...{ api: reach.report(), metadata: metadataReach.report() },
      ...{ credentials: credentials.report(), clockSkewMs: skew.skewMs, resting: turns.resting() },
    }),
  };
}
