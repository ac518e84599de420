/** Elements without markup: whatever a pod is called, its name is text. The only way in which this page makes elements. */

type Attributes = Readonly<Record<string, string | number | boolean | null>>;
type Child = Node | string | null;

export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), attributes, children);
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

/** By its id in the page's own HTML. */
export function part(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no part ${id}`);
  return found;
}

/** Touches the document only when something is new: unchanged text costs no layout. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function setClass(element: Element, name: string): void {
  if (element.getAttribute('class') !== name) element.setAttribute('class', name);
}

export function setTitle(element: HTMLElement, text: string): void {
  if (element.title !== text) element.title = text;
}

function filled<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes))
    if (value !== null && value !== false) element.setAttribute(name, value === true ? '' : String(value));
  element.append(...children.filter((child) => child !== null));
  return element;
}

const FLASH_MS = 900;

/**
 * Marks an element for a moment. Two paints: an animation would have the whole page painted sixty times a second, wherever there is no graphics
 * processor for it.
 */
export function flash(element: Element): void {
  element.classList.add('flash');
  setTimeout(() => element.classList.remove('flash'), FLASH_MS);
}

/**
 * Makes the children of `parent` be one element per item, in their order. Those that are there already are kept: what is seen to flash is then
 * what has changed.
 */
export class Keyed<Item, E extends Element> {
  readonly #parent: Element;
  readonly #make: (key: string) => E;
  readonly #fill: (element: E, item: Item) => void;
  readonly #elements = new Map<string, E>();

  constructor(parent: Element, make: (key: string) => E, fill: (element: E, item: Item) => void) {
    this.#parent = parent;
    this.#make = make;
    this.#fill = fill;
  }

  get(key: string): E | undefined {
    return this.#elements.get(key);
  }

  show(items: readonly Item[], keyOf: (item: Item) => string): void {
    const wanted = new Set<string>();
    let next: Element | null = this.#parent.firstElementChild;
    for (const item of items) {
      const key = keyOf(item);
      if (wanted.has(key)) continue;
      wanted.add(key);
      let element = this.#elements.get(key);
      if (element === undefined) {
        element = this.#make(key);
        this.#elements.set(key, element);
      }
      this.#fill(element, item);
      if (element === next) next = element.nextElementSibling;
      else this.#parent.insertBefore(element, next);
    }
    for (const [key, element] of this.#elements)
      if (!wanted.has(key)) {
        element.remove();
        this.#elements.delete(key);
      }
  }
}
