/**
 * Trees drawn as terway-cli draws them, byte for byte, since people's scripts read them.
 * Source: pterm, TreePrinter with its defaults (indent 2), as used by Terway's cmd/terway-cli.
 */
export type Tree = { readonly text: string; readonly children: readonly Tree[] };

export const leaf = (text: string): Tree => ({ text, children: [] });

/** Without the empty line that follows each rendering. */
export function treeLines(roots: readonly Tree[], prefix = ''): string[] {
  return roots.flatMap(({ text, children }, index) => {
    const isLast = index === roots.length - 1;
    const elbow = isLast ? '└' : '├';
    const own = `${prefix}${elbow}─${children.length === 0 ? '─' : '┬'}${text}`;
    return [own, ...treeLines(children, `${prefix}${isLast ? ' ' : '│'} `)];
  });
}

/** Keys are split at their slashes; each is a leaf `last: value`. All hang on a node without a text. */
export function keyTree(entries: readonly { readonly Key: string; readonly Value: string }[]): Tree {
  type Growing = { readonly text: string; readonly children: Growing[] };
  const root: Growing = { text: '', children: [] };
  for (const { Key, Value } of entries) {
    const parts = Key.split('/');
    const last = parts.pop() ?? '';
    let at = root;
    for (const part of parts) {
      let below = at.children.find((child) => child.text === part);
      if (below === undefined) {
        below = { text: part, children: [] };
        at.children.push(below);
      }
      at = below;
    }
    at.children.push({ text: `${last}: ${Value}`, children: [] });
  }
  return root;
}
