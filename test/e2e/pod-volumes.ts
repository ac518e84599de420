/**
 * A pod's volumes on a node as the kubelet lays them: folders of the host, maps of keys, and what is projected (a token, the cluster's certificate,
 * the pod's namespace). Keys are files behind a link that is turned in one step, so that whoever watches sees all of a change or nothing.
 * Source: Kubernetes, pkg/volume/util/atomic_writer.go (the links `..data`); "Volumes", hostPath types.
 */
import { existsSync, mkdirSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { V1Pod, V1Volume, V1VolumeProjection } from '@kubernetes/client-node';

/** Where a volume is on the node. */
export type LaidVolume = { readonly name: string; readonly hostPath: string };

/** What the API server would tell the kubelet of. */
export type Cluster = {
  /** By name; those of the pod's namespace. */
  readonly configMaps: ReadonlyMap<string, Readonly<Record<string, string>>>;
  readonly token: string;
};

const DEFAULT_MODE = 0o644;

export class PodVolumes {
  readonly #pod: V1Pod;
  readonly #root: string;
  #serial = 0;

  /** `root`: the node's, as it is seen from here. */
  constructor(pod: V1Pod, root: string) {
    this.#pod = pod;
    this.#root = root;
  }

  /** Throws Error for a kind of volume that no manifest here has, and for a folder that has to be there and is not. */
  lay(cluster: Cluster): readonly LaidVolume[] {
    return (this.#pod.spec?.volumes ?? []).map((volume) => ({
      name: volume.name,
      hostPath: this.#lay(volume, cluster),
    }));
  }

  /** As a changed map reaches the pods that mount it. */
  update(cluster: Cluster): void {
    for (const volume of this.#pod.spec?.volumes ?? []) if (volume.hostPath === undefined) this.#lay(volume, cluster);
  }

  remove(): void {
    rmSync(join(this.#root, this.#folder), { recursive: true, force: true });
  }

  get #folder(): string {
    return `/var/lib/kubelet/pods/${this.#pod.metadata?.uid}`;
  }

  #lay({ name, hostPath, configMap, projected }: V1Volume, cluster: Cluster): string {
    if (hostPath !== undefined) return this.#hostFolder(hostPath.path, hostPath.type);
    const sources = configMap === undefined ? projected?.sources : [{ configMap }];
    if (sources === undefined) throw new Error(`volume ${name} is of a kind that is not laid here`);
    const files = Object.assign({}, ...sources.map((source) => this.#files(source, cluster))) as Record<string, string>;
    const path = `${this.#folder}/volumes/${name}`;
    this.#write(join(this.#root, path), files, projected?.defaultMode ?? configMap?.defaultMode ?? DEFAULT_MODE);
    return path;
  }

  #hostFolder(path: string, type: string | undefined): string {
    // What is below /var/run is below /run on every node, and an absolute link would lead out of the root from here.
    const here = join(this.#root, path.replace(/^\/var\/run\b/, '/run'));
    if (type === 'DirectoryOrCreate') mkdirSync(here, { recursive: true, mode: 0o755 });
    else if (!statSync(here).isDirectory()) throw new Error(`${path} is no folder`);
    return path;
  }

  #files(
    { configMap, serviceAccountToken, downwardAPI }: V1VolumeProjection,
    cluster: Cluster,
  ): Record<string, string> {
    if (serviceAccountToken !== undefined) return { [serviceAccountToken.path]: cluster.token };
    if (configMap !== undefined) {
      const data = cluster.configMaps.get(configMap.name ?? '');
      if (data === undefined) throw new Error(`there is no ConfigMap ${configMap.name}`);
      const items = configMap.items ?? Object.keys(data).map((key) => ({ key, path: key }));
      return Object.fromEntries(items.map(({ key, path }) => [path, data[key] ?? '']));
    }
    return Object.fromEntries(
      (downwardAPI?.items ?? []).map(({ path, fieldRef }) => [path, fieldOf(this.#pod, fieldRef?.fieldPath ?? '')]),
    );
  }

  #write(folder: string, files: Readonly<Record<string, string>>, mode: number): void {
    this.#serial += 1;
    const data = `..${this.#serial}`;
    mkdirSync(join(folder, data), { recursive: true });
    for (const [path, text] of Object.entries(files)) writeFileSync(join(folder, data, path), text, { mode });
    symlinkSync(data, join(folder, '..next'));
    renameSync(join(folder, '..next'), join(folder, '..data'));
    for (const path of Object.keys(files))
      if (!existsSync(join(folder, path))) symlinkSync(`..data/${path}`, join(folder, path));
    rmSync(join(folder, `..${this.#serial - 1}`), { recursive: true, force: true });
  }
}

/** Throws Error for a field that no manifest here asks for. */
export function fieldOf({ metadata, spec, status }: V1Pod, path: string): string {
  const fields: Readonly<Record<string, string | undefined>> = {
    'metadata.name': metadata?.name,
    'metadata.namespace': metadata?.namespace,
    'spec.nodeName': spec?.nodeName,
    'status.hostIP': status?.hostIP,
  };
  const value = fields[path];
  if (value === undefined) throw new Error(`field ${path} of a pod is not known here`);
  return value;
}
