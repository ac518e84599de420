/** The keys, listed in the page's help; none of them while somebody types. */
export type Keys = Readonly<Record<string, () => void>>;

export function listenToKeys(keys: Keys): void {
  document.addEventListener('keydown', (event) => {
    if (document.querySelector('dialog[open]') !== null) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target as HTMLElement;
    const typing = target.matches('input:not([type=range]), select, textarea');
    if (event.key === 'Escape' && typing) target.blur();
    if (typing && event.key !== 'Escape') return;
    // A button that has the focus is pressed by the space bar.
    if (event.key === ' ' && target.matches('button')) return;
    const act = keys[event.key];
    if (act === undefined || (target.matches('input[type=range]') && event.key.startsWith('Arrow'))) return;
    event.preventDefault();
    act();
  });
}
