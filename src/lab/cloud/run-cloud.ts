/**
 * The cloud of the lab: OpenAPI at `/`, the admin interface at `/admin`, any instance's metadata at `/metadata/<instance id>`
 * and, on request, at addresses of its own.
 */
import type { RequestListener } from 'node:http';
import { VpcModel } from '../../vpc/model.ts';
import { defaultSettings, type Profile, type Settings } from '../../vpc/settings.ts';
import { defaultTopology, type Topology } from '../../vpc/topology.ts';
import { Admin } from './admin.ts';
import { EventLog } from './event-log.ts';
import { sendJson } from './http-answer.ts';
import { readMessage } from './http-message.ts';
import { type AccessKey, KeyRing, LAB_ACCESS_KEY } from './keys.ts';
import { listenHttp } from './listening.ts';
import { LiveCloud } from './live-cloud.ts';
import { MetadataService } from './metadata.ts';
import { MetadataDoors } from './metadata-doors.ts';
import { OpenApi } from './openapi.ts';
import { type OidcTrust, Sts } from './sts.ts';

export type CloudOptions = {
  /** Default: `defaultTopology()`. */
  readonly topology?: Topology;
  /** Default: realistic. */
  readonly profile?: Profile;
  /** Over those of the profile. */
  readonly settings?: Partial<Settings>;
  /** Access keys that are accepted; default: `LAB_ACCESS_KEY` alone. */
  readonly keys?: readonly AccessKey[];
  /** How long credentials of RAM roles live; default: six hours. */
  readonly roleLifeMs?: number;
  /** Roles that can be assumed with OIDC tokens; default: none. */
  readonly oidcTrusts?: readonly OidcTrust[];
  /** How long their credentials live, whatever the caller asks for; default: as asked. */
  readonly oidcLifeMs?: number;
};

/** A cloud that runs but listens nowhere: its handlers can be bound in any network namespace. */
export type Cloud = {
  readonly live: LiveCloud;
  readonly model: VpcModel;
  /** OpenAPI, admin and metadata by path. */
  readonly handler: RequestListener;
  /** For a server at 100.100.100.200:80 inside the instance's network namespace. */
  readonly metadataHandler: (instanceId: string) => RequestListener;
  readonly doors: MetadataDoors;
  readonly admin: Admin;
  readonly stop: () => void;
};

export type RunningCloud = Cloud & {
  readonly url: string;
  readonly adminUrl: string;
  readonly close: () => Promise<void>;
};

export function createCloud(options: CloudOptions = {}): Cloud {
  const settings = { ...defaultSettings(options.profile ?? 'realistic'), ...options.settings };
  const topology = options.topology ?? defaultTopology();
  const model = new VpcModel({ topology, nowMs: Date.now(), settings });
  const live = new LiveCloud(model);
  const keys = new KeyRing(options.keys ?? [LAB_ACCESS_KEY], options.roleLifeMs);
  const metadata = new MetadataService(live, keys);
  const events = new EventLog(model);
  const doors = new MetadataDoors(metadata);
  const openApi = new OpenApi(live, keys, new Sts(options.oidcTrusts ?? [], keys, options.oidcLifeMs ?? null));
  const admin = new Admin(live, events, doors, keys);

  const handler: RequestListener = (request, response) => {
    const path = (request.url ?? '/').split('?')[0] ?? '/';
    const [, instanceId, rest] = /^\/metadata\/([^/]+)(\/.*)?$/.exec(path) ?? [];
    const serve = async () => {
      if (instanceId !== undefined) {
        request.resume();
        return metadata.answer(instanceId, rest ?? '/', request, response);
      }
      const message = await readMessage(request);
      if (/^\/admin(\/|$)/.test(path)) return admin.answer(message, path.slice('/admin'.length), response);
      return openApi.answer(message, response);
    };
    serve().catch((error: unknown) => {
      if (response.headersSent || response.destroyed) response.socket?.destroy();
      else sendJson(response, 500, { error: [{ field: null, message: String(error) }] });
    });
  };

  return {
    live,
    model,
    handler,
    metadataHandler: (instanceId) => metadata.handler(instanceId),
    doors,
    admin,
    stop: () => {
      events.stop();
      live.stop();
    },
  };
}

/** Listens at `host:port` (port 0: a free one). Rejects with what listening met. */
export async function runCloud(
  options: CloudOptions & {
    readonly listen: string;
    /** Instances whose metadata is served at an address of its own from the start. */
    readonly metadata?: readonly { readonly instanceId: string; readonly listen: string }[];
  },
): Promise<RunningCloud> {
  const cloud = createCloud(options);
  const closing: (() => Promise<unknown>)[] = [() => cloud.doors.closeThose(null)];
  const close = async () => {
    cloud.stop();
    await Promise.all(closing.map((one) => one()));
  };
  try {
    const listening = await listenHttp(options.listen, cloud.handler);
    closing.push(listening.close);
    for (const door of options.metadata ?? []) await cloud.doors.open(door.instanceId, door.listen);
    return { ...cloud, url: listening.url, adminUrl: `${listening.url}/admin`, close };
  } catch (error) {
    await close();
    throw error;
  }
}
