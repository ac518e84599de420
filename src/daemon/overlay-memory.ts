/**
 * The overlay that was in force last, so that a node whose API server is away does not start with the configuration of other nodes. A file,
 * readable for its owner alone, since an overlay may hold a secret.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../core/merge-patch.ts';
import type { Overlay } from './overlay-watch.ts';

const NAME = 'overlay.json';

/** null when nothing is remembered, or nobody can read it. */
export function rememberedOverlay(dataDir: string): Overlay | null {
  try {
    const value: unknown = JSON.parse(readFileSync(join(dataDir, NAME), 'utf8'));
    if (!isObject(value)) return null;
    const { configMap, text } = value;
    const isText = (one: unknown): one is string | null => one === null || typeof one === 'string';
    return isText(configMap) && isText(text) ? { configMap, text } : null;
  } catch {
    return null;
  }
}

/** Throws the system's error. */
export function rememberOverlay(dataDir: string, overlay: Overlay): void {
  const unfinished = join(dataDir, `.${NAME}.${process.pid}`);
  try {
    writeFileSync(unfinished, JSON.stringify(overlay), { mode: 0o600 });
    renameSync(unfinished, join(dataDir, NAME));
  } catch (thrown) {
    rmSync(unfinished, { force: true });
    throw thrown;
  }
}
