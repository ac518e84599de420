/**
 * The real `kubectl`, as somebody types it: with a kubeconfig and a home of its own. One before 1.21 cannot read this tree's kustomizations (folders as
 * resources); for it `-k FOLDER` is rendered here (test/e2e/kustomize.ts, which a test compares with kubectl's own rendering) and given as a file.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { ApiServer } from '../../src/lab/apiserver/api-server.ts';
import { printed } from '../../src/lab/services/printed.ts';
import { render } from '../e2e/kustomize.ts';

const TIMEOUT_MS = 180_000;
/** Source: kubectl 1.21's release notes: kustomize v4.0.5. */
const READS_FOLDERS_SINCE = 21;

type Version = { readonly clientVersion: { readonly major: string; readonly minor: string } };

/** The minor version of what is in the path; null without one. */
export function kubectlVersion(): number | null {
  const { status, stdout } = spawnSync('kubectl', ['version', '--client', '-o', 'json'], {
    encoding: 'utf8',
    timeout: 20_000,
  });
  if (status !== 0) return null;
  return Number.parseInt((JSON.parse(stdout) as Version).clientVersion.minor, 10);
}

export class Kubectl {
  readonly minor: number;
  /** By which it knows whom to ask. */
  readonly env: NodeJS.ProcessEnv;
  readonly #folder: string;
  readonly #cwd: string;

  /** `folder`: for what it keeps. `cwd`: where it is typed. Throws Error when there is no kubectl. */
  constructor(api: Pick<ApiServer, 'kubeconfig'>, folder: string, cwd = process.cwd()) {
    const minor = kubectlVersion();
    if (minor === null) throw new Error('there is no kubectl');
    this.minor = minor;
    this.#folder = folder;
    this.#cwd = cwd;
    mkdirSync(folder, { recursive: true });
    const path = join(folder, 'kubeconfig');
    writeFileSync(path, JSON.stringify(api.kubeconfig), { mode: 0o600 });
    this.env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: path };
  }

  get readsFolders(): boolean {
    return this.minor >= READS_FOLDERS_SINCE;
  }

  /** What it printed. Rejects with its words when it fails. */
  run(...argv: readonly string[]): Promise<string> {
    return this.type(['kubectl', ...argv].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' '));
  }

  /** The same of a line that is typed in a shell. */
  type(line: string): Promise<string> {
    const typed = this.readsFolders
      ? line
      : line.replace(
          /(?<=\s'?)-k(?='?\s)('?\s+'?)([^\s']+)/,
          (_, between, folder) => `-f${between}${this.#rendered(folder)}`,
        );
    const child = spawn('sh', ['-ec', typed], {
      stdio: ['ignore', 'pipe', 'pipe'],
      cwd: this.#cwd,
      env: this.env,
      timeout: TIMEOUT_MS,
    });
    return printed(child, line);
  }

  #rendered(folder: string): string {
    const path = join(this.#folder, 'rendered.json');
    writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: render(resolve(this.#cwd, folder)) }));
    return path;
  }
}
