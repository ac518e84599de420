/**
 * The admin interface: looks at the simulated cloud from outside, and interferes with it. Never signed, JSON both ways.
 *
 * The page `admin.md` beside this file is its description for users; keep both alike.
 */
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { TopologyError } from '../../vpc/check-topology.ts';
import { CloudError } from '../../vpc/errors.ts';
import { changedSettings, changeSchema, faultSchema, listenSchema } from './admin-schema.ts';
import type { EventLog } from './event-log.ts';
import { sendJson } from './http-answer.ts';
import type { HttpMessage } from './http-message.ts';
import type { KeyRing } from './keys.ts';
import type { LiveCloud } from './live-cloud.ts';
import type { MetadataDoors } from './metadata-doors.ts';
import { topologyPartsSchema } from './topology-file.ts';

export type AdminMessage = Pick<HttpMessage, 'method' | 'query' | 'body'>;
export type AdminAnswer = { readonly status: number; readonly value: unknown };
type Route = (message: AdminMessage, rest: string) => unknown | Promise<unknown>;

/** A request that cannot be served; `field` names the culprit, null when it is the whole request. */
class AdminError extends Error {
  readonly status: number;
  readonly field: string | null;

  constructor(status: number, field: string | null, message: string) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

export class Admin {
  readonly #routes: Readonly<Record<string, Route>>;

  constructor(cloud: LiveCloud, events: EventLog, doors: MetadataDoors, keys: KeyRing) {
    const { gateway, model } = cloud;
    this.#routes = {
      'GET ledger': ({ query }) => {
        const ledger = query.get('of') === 'metadata' ? cloud.metadataLedger : gateway.ledger;
        const entries = ledger.read(numberIn(query, 'since'), query.get('api'));
        return { lastSeq: ledger.lastSeq, forgotten: ledger.forgotten, entries };
      },
      'GET truth': () => model.truth(cloud.nowMs()),
      'GET events': async ({ query }) => events.read(numberIn(query, 'since'), numberIn(query, 'waitMs')),
      'GET faults': () => ({ faults: gateway.faults.list(), holding: cloud.holding() }),
      'POST faults': (message) => {
        const faults = oneOrMore(faultSchema, jsonOf(message));
        return { ids: faults.map((fault) => gateway.faults.plant(fault)) };
      },
      'DELETE faults': (_, rest) => {
        const ids = rest === '' ? gateway.faults.list().map((one) => one.id) : [rest];
        const known = ids.map((id) => gateway.faults.remove(id));
        const released = ids.reduce((sum, id) => sum + cloud.release(id), 0);
        if (rest !== '' && !known.includes(true) && released === 0) {
          throw new AdminError(404, 'id', `there is no fault ${rest}`);
        }
        return { removed: known.filter(Boolean).length, released };
      },
      'POST change': (message) => {
        const changes = oneOrMore(changeSchema, jsonOf(message));
        try {
          return { touched: changes.map((change) => model.change(change, cloud.nowMs())) };
        } finally {
          cloud.touched();
        }
      },
      'POST topology': (message) => {
        model.build(topologyPartsSchema.parse(jsonOf(message)), cloud.nowMs());
        cloud.touched();
        return model.truth(cloud.nowMs());
      },
      'GET settings': () => model.settings,
      'POST settings': (message) => {
        model.settings = changedSettings(model.settings, jsonOf(message));
        return model.settings;
      },
      'DELETE credentials': () => ({ ended: keys.endTemporary(cloud.wallMs()) }),
      'GET metadata': () => ({ listening: doors.list() }),
      'POST metadata': async (message) => {
        const { instanceId, listen } = listenSchema.parse(jsonOf(message));
        if (model.metadata(instanceId, cloud.nowMs()) === null) {
          throw new AdminError(404, 'instanceId', `there is no instance ${instanceId}`);
        }
        try {
          return await doors.open(instanceId, listen);
        } catch (error) {
          throw new AdminError(400, 'listen', error instanceof Error ? error.message : String(error));
        }
      },
      'DELETE metadata': async ({ query }) => ({ closed: await doors.closeThose(query.get('url')) }),
    };
  }

  /** `path` is what follows the prefix, such as `/faults/fault-1`. */
  async answer(message: HttpMessage, path: string, response: ServerResponse): Promise<void> {
    const { status, value } = await this.ask(message, path);
    sendJson(response, status, value);
  }

  /** The same for who is in this very process. */
  async ask(message: AdminMessage, path: string): Promise<AdminAnswer> {
    const [name = '', ...rest] = path.split('/').filter((part) => part !== '');
    const route = this.#routes[`${message.method} ${name}`];
    try {
      if (route === undefined) {
        if (message.method === 'GET' && name === '') return { status: 200, value: { routes: this.routes } };
        throw new AdminError(404, null, `no such route; there are: ${this.routes.join(', ')}`);
      }
      return { status: 200, value: await route(message, rest.join('/')) };
    } catch (error) {
      const { status, problems } = problemsOf(error);
      return { status, value: { error: problems } };
    }
  }

  get routes(): readonly string[] {
    return Object.keys(this.#routes);
  }
}

type Problem = { readonly field: string | null; readonly message: string };

function problemsOf(error: unknown): { status: number; problems: readonly Problem[] } {
  if (error instanceof z.ZodError) {
    const problems = error.issues.map((issue) => ({ field: issue.path.join('.') || null, message: issue.message }));
    return { status: 400, problems };
  }
  if (error instanceof AdminError) {
    return { status: error.status, problems: [{ field: error.field, message: error.message }] };
  }
  if (error instanceof TopologyError) {
    return { status: 400, problems: [{ field: error.field, message: error.message }] };
  }
  if (error instanceof CloudError) {
    const field = fieldOfCode.find(([code]) => code.test(error.code))?.[1] ?? null;
    return { status: 409, problems: [{ field, message: `${error.code}: ${error.message}` }] };
  }
  throw error;
}

/** Which field of a change an error of the model is about. */
const fieldOfCode: readonly (readonly [RegExp, string])[] = [
  [/^InvalidEniId/, 'eniId'],
  [/^InvalidInstanceId/, 'instanceId'],
  [/^InvalidVSwitchId\.IpInvalid|^InvalidIp/, 'ips'],
  [/^InvalidVSwitch/, 'vSwitchId'],
];

/** A single body or a list of them. */
function oneOrMore<T>(schema: z.ZodType<T>, body: unknown): readonly T[] {
  return Array.isArray(body) ? z.array(schema).parse(body) : [schema.parse(body)];
}

function jsonOf(message: AdminMessage): unknown {
  try {
    return JSON.parse(message.body.toString('utf8'));
  } catch {
    throw new AdminError(400, null, 'the body is not JSON');
  }
}

function numberIn(query: URLSearchParams, name: string): number {
  const text = query.get(name) ?? '0';
  if (!/^\d+$/.test(text)) throw new AdminError(400, name, 'is not a number');
  return Number(text);
}
