import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';

/** tap's own fixture directories are too long for socket paths. */
export function shortDirectory(t: Test): string {
  const made = mkdtempSync(join(tmpdir(), 'e-'));
  t.teardown(() => rmSync(made, { recursive: true, force: true }));
  return made;
}
