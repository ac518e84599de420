/**
 * The real `kubectl`, as somebody types it: with a kubeconfig and a home of its own. One before 1.21 cannot read this tree's kustomizations (folders as
 * resources); for it `-k FOLDER` is rendered here (test/e2e/kustomize.ts, which a test compares with kubectl's own rendering) and given as a file.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApiServer } from '../../src/lab/apiserver/api-server.ts';
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
  readonly #env: NodeJS.ProcessEnv;
  readonly #folder: string;

  /** `folder`: for what it keeps. Throws Error when there is no kubectl. */
  constructor(api: Pick<ApiServer, 'kubeconfig'>, folder: string) {
    const minor = kubectlVersion();
    if (minor === null) throw new Error('there is no kubectl');
    this.minor = minor;
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
    const path = join(folder, 'kubeconfig');
    writeFileSync(path, JSON.stringify(api.kubeconfig), { mode: 0o600 });
    this.#env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: path };
  }

  get readsFolders(): boolean {
    return this.minor >= READS_FOLDERS_SINCE;
  }

  /** What it printed. Rejects with its words when it fails. */
  run(...argv: readonly string[]): Promise<string> {
    const args = [...argv];
    const at = args.indexOf('-k');
    if (at >= 0 && !this.readsFolders) args.splice(at, 2, '-f', this.#rendered(args[at + 1] ?? ''));
    return new Promise((resolve, reject) => {
      const child = spawn('kubectl', args, {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: this.#env,
        timeout: TIMEOUT_MS,
      });
      let [stdout, stderr] = ['', ''];
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        stdout += text;
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => {
        stderr += text;
      });
      child.once('error', reject);
      child.once('close', (code, signal) => {
        if (code === 0) return resolve(stdout);
        reject(new Error(`kubectl ${argv.join(' ')} ended with ${code ?? signal}: ${stderr.trim()}\n${stdout.trim()}`));
      });
    });
  }

  #rendered(folder: string): string {
    const path = join(this.#folder, 'rendered.json');
    writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: render(folder) }));
    return path;
  }
}
