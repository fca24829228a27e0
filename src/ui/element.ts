type Child = Node | string | undefined | false
type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: Event) => void)>>

/** Creates an element. Text always becomes a text node: captured content is never parsed as HTML. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(name, value)
    else if (value === true) made.setAttribute(name, '')
    else if (value !== false && value !== undefined) made.setAttribute(name, String(value))
  }
  made.append(...children.filter(child => child !== undefined && child !== false))
  return made
}

/** The element with that id, which the page must have. */
export function byId(id: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(`#${CSS.escape(id)}`)
  if (!found) throw new Error(`the page has no #${id}`)
  return found
}

/** A button with a hint at its key. */
export const button = (label: string, key: string, press: () => void): HTMLButtonElement =>
  element('button', { type: 'button', title: key === '' ? label : `${label} (${key})`, click: press }, label)
