/** Text that is already markup, inserted unchanged. Everything else is escaped. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = Markup | string | number | readonly Part[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, character => entities[character] ?? '')

function written(part: Part): string {
  if (part instanceof Markup) return part.text
  if (typeof part === 'object') return part.map(written).join('')
  return escaped(String(part))
}

/** Builds markup from a template; inserted values are escaped. */
export const markup = (fixed: TemplateStringsArray, ...parts: Part[]): Markup =>
  new Markup(fixed.map((text, index) => text + written(parts[index] ?? '')).join(''))

/** A sentence in which `backticks` mark code. */
export const prose = (text: string): Markup[] =>
  text.split('`').map((piece, index) => (index % 2 === 0 ? markup`${piece}` : markup`<code>${piece}</code>`))

/** Code that may wrap after each of its separators. */
export const breakable = (text: string): Markup[] =>
  text.split(/(?<=[/._])/).map((piece, index) => (index === 0 ? markup`${piece}` : markup`<wbr />${piece}`))
