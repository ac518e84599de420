/** Addresses at which an instance's metadata is served on request, beside the place inside its network namespace. */
import { type Listening, listenHttp } from './listening.ts';
import type { MetadataService } from './metadata.ts';

export type MetadataDoor = { readonly instanceId: string; readonly url: string };

export class MetadataDoors {
  readonly #service: MetadataService;
  readonly #open = new Map<string, { readonly instanceId: string; readonly listening: Listening }>();

  constructor(service: MetadataService) {
    this.#service = service;
  }

  /** Rejects with what listening met. */
  async open(instanceId: string, listen: string): Promise<MetadataDoor> {
    const listening = await listenHttp(listen, this.#service.handler(instanceId));
    this.#open.set(listening.url, { instanceId, listening });
    return { instanceId, url: listening.url };
  }

  list(): readonly MetadataDoor[] {
    return [...this.#open].map(([url, { instanceId }]) => ({ instanceId, url }));
  }

  /** Closes the one at `url`, or all; says how many. */
  async closeThose(url: string | null): Promise<number> {
    const doors = [...this.#open].filter(([each]) => url === null || each === url);
    await Promise.all(doors.map(([, { listening }]) => listening.close()));
    for (const [each] of doors) this.#open.delete(each);
    return doors.length;
  }
}
