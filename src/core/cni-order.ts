/** Of several CNI configurations in a directory the runtime takes the first by name, and reads no other. Pure. Source: libcni, ConfFiles; containerd, max_conf_num 1; CRI-O. */

/** The one that it takes in place of ours; null: ours is the first. */
export function takenInsteadOf(ours: string, names: readonly string[]): string | null {
  return names.filter((name) => /\.(conf|conflist|json)$/.test(name) && name < ours).sort()[0] ?? null;
}
