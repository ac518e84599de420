/** The versions of the CNI specification whose shapes we print. 1.1.0 brings the verbs GC and STATUS. */
import { CNI_CODE, CniError } from './cni-error.ts';

export const SUPPORTED_VERSIONS: readonly string[] = ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0'];
export const NEWEST_VERSION = '1.1.0';
/** What a configuration without cniVersion means. Source: libcni, types/internal. */
export const IMPLIED_VERSION = '0.1.0';

const VERB_SINCE: Readonly<Record<string, readonly [number, number]>> = { CHECK: [0, 4], GC: [1, 1], STATUS: [1, 1] };

/** Refuses a verb older than its configuration's version, then a version we do not print, in the reference's order. */
export function requireVersion(command: string, cniVersion: string): void {
  const since = VERB_SINCE[command];
  if (since !== undefined) {
    const parts = /^(\d+)\.(\d+)(\.\d+)?$/.exec(cniVersion);
    if (parts === null) throw new CniError(CNI_CODE.decodeFailure, `cniVersion "${cniVersion}" is no version`);
    const [major, minor] = [Number(parts[1]), Number(parts[2])];
    if (major < since[0] || (major === since[0] && minor < since[1])) {
      const text = `${command} needs a configuration of cniVersion ${since.join('.')}.0 or later, not ${cniVersion}`;
      throw new CniError(CNI_CODE.incompatibleVersion, text);
    }
  }
  if (SUPPORTED_VERSIONS.includes(cniVersion)) return;
  throw new CniError(
    CNI_CODE.incompatibleVersion,
    `incompatible CNI versions: config is "${cniVersion}", plugin supports ${JSON.stringify(SUPPORTED_VERSIONS)}`,
  );
}
