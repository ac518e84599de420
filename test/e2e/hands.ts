/**
 * Whoever does what the pages say: a real kubectl where there is one; else the same objects, rendered here, go to the API server without it. What has
 * been typed is kept, and what could not be.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiServer } from '../../src/lab/apiserver/api-server.ts';
import { at, isJsonObject, type JsonObject } from '../../src/lab/apiserver/kube-object.ts';
import { known, RESOURCES } from '../../src/lab/apiserver/resource.ts';
import { Kubectl, kubectlVersion } from '../runtime/kubectl.ts';
import { type Rendered, render } from './kustomize.ts';
import { type Command, needsWebSocket, ON_NODE, WEB_SOCKET_SINCE } from './page.ts';

const ROLL_OUT_MS = 180_000;
const POLL_MS = 100;

export class Hands {
  readonly typed = new Set<string>();
  /** Commands that this kubectl, or none, cannot do. */
  readonly left = new Set<string>();
  readonly #api: ApiServer;
  readonly #folder: string;
  readonly #kubectl: Kubectl | null;

  /** `folder`: holds `deploy`, and is where commands are typed. */
  constructor(api: ApiServer, folder: string) {
    this.#api = api;
    this.#folder = folder;
    this.#kubectl = kubectlVersion() === null ? null : new Kubectl(api, join(folder, 'home'), folder);
  }

  /** Of a shell in which kubectl knows this cluster; null without kubectl. */
  get env(): NodeJS.ProcessEnv | null {
    return this.#kubectl?.env ?? null;
  }

  /** In words. */
  get name(): string {
    return this.#kubectl === null ? 'no kubectl: objects are rendered here' : `kubectl 1.${this.#kubectl.minor}`;
  }

  /** Types a command of a page, with `node` for NODE, and resolves to what it printed. Rejects with its words when it fails. */
  async type(command: Command, node = ''): Promise<string> {
    if (this.#kubectl === null) return this.#without(command);
    if (needsWebSocket(command) && this.#kubectl.minor < WEB_SOCKET_SINCE) {
      this.left.add(command);
      return '';
    }
    this.typed.add(command);
    const line = command.replaceAll('NODE', node);
    return this.#kubectl.type(command.startsWith('on_node ') ? `${ON_NODE}\n${line}` : line);
  }

  async #without(command: Command): Promise<string> {
    const [, set = ''] = /ds\/(\S+)/.exec(command) ?? [];
    const [, verb, folder = ''] = /(apply|delete) -k (\S+)/.exec(command) ?? [];
    if (verb === 'apply') for (const object of render(join(this.#folder, folder))) this.#apply(object);
    else if (verb === 'delete') for (const object of render(join(this.#folder, folder))) this.#delete(object);
    else if (command.includes('rollout status')) await this.#rolledOut(set);
    else if (command.includes('rollout undo')) this.#undo(set);
    else this.left.add(command);
    return '';
  }

  #apply(object: Rendered): void {
    const { resource, namespace, old } = this.#find(object);
    if (old === null) this.#api.lifecycle.create(resource, namespace, object);
    else
      this.#api.lifecycle.update(
        resource,
        old,
        { ...old, ...object, metadata: { ...old.metadata, ...object.metadata } },
        null,
      );
  }

  #delete(object: Rendered): void {
    const { resource, old } = this.#find(object);
    const options = { gracePeriodSeconds: null, uid: null, resourceVersion: null };
    if (old !== null) this.#api.lifecycle.delete(resource, old, options);
  }

  #find({ kind, metadata }: Rendered) {
    const resource = RESOURCES.find((one) => one.kind === kind);
    if (resource === undefined) throw new Error(`the API server of the lab knows no ${kind}`);
    const namespace = resource.namespaced ? (metadata.namespace ?? 'default') : null;
    return { resource, namespace, old: this.#api.store.get(resource, namespace, metadata.name) };
  }

  async #rolledOut(name: string): Promise<void> {
    const endMs = performance.now() + ROLL_OUT_MS;
    for (;;) {
      const set = this.#api.store.get(known('daemonsets'), 'kube-system', name);
      const status = (key: string) => Number(at(set ?? ({} as JsonObject), `status.${key}`) ?? 0);
      const desired = status('desiredNumberScheduled');
      if (
        status('observedGeneration') === set?.metadata.generation &&
        status('updatedNumberScheduled') === desired &&
        status('numberAvailable') === desired
      )
        return;
      if (performance.now() > endMs) throw new Error(`${name} is not rolled out: ${JSON.stringify(set?.status)}`);
      await sleep(POLL_MS);
    }
  }

  #undo(name: string): void {
    const { store, lifecycle } = this.#api;
    const set = store.get(known('daemonsets'), 'kube-system', name);
    const [, before] = store
      .list(known('controllerrevisions'), 'kube-system')
      .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === set?.metadata.uid))
      .toSorted((a, b) => Number(b.revision) - Number(a.revision));
    const template = before === undefined ? undefined : at(before, 'data.spec.template');
    if (set === null || !isJsonObject(template)) throw new Error(`${name} has no revision to go back to`);
    const { $patch: _, ...given } = template;
    const spec = isJsonObject(set.spec) ? set.spec : {};
    lifecycle.update(known('daemonsets'), set, { ...set, spec: { ...spec, template: given } }, null);
  }
}
