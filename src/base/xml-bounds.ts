const MAX_DEPTH = 64
const MAX_ATTRIBUTES = 64

/** Parse times of the parts of a document, in microseconds on a slow machine, and the limit for their sum. */
const cost = { element: 4, attribute: 3, declaration: 15, comment: 4, reference: 1, charactersPerUnit: 250 }
const MAX_COST = 8000
/** The parser takes a step for each earlier child when it adds one; this many are one unit. */
const SIBLING_STEPS_PER_UNIT = 50

const GREATER = 0x3e
const LESS = 0x3c
const SLASH = 0x2f
const DOUBLE_QUOTE = 0x22
const SINGLE_QUOTE = 0x27
const REFERENCE = /&/g
const DECLARATION = /\sxmlns[:=]/g

/** Parts other than elements, and their end markers. */
const others = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const

/**
 * Why a message is rejected before parsing; undefined when it is acceptable. Any client can send one. SAML messages
 * have no markup declarations, comments, CDATA sections or processing instructions: these only make two parsers see
 * different texts.
 */
export function messageFault(xml: string): string | undefined {
  const content = xml.slice(afterDeclaration(xml))
  if (content.includes('<!')) return 'it has a document type, a comment or a CDATA section'
  if (content.includes('<?')) return 'it has a processing instruction'
  return documentFault(xml)
}

/** Why a document is rejected before parsing: it would block other work of the process for too long. */
export function documentFault(xml: string): string | undefined {
  if (/<!(DOCTYPE|ENTITY)/i.test(xml)) return 'it has a DTD'
  const references = xml.match(REFERENCE)?.length ?? 0
  const declarations = xml.match(DECLARATION)?.length ?? 0
  const spent =
    references * cost.reference + declarations * cost.declaration + xml.length / cost.charactersPerUnit
  return new Scanner(xml, spent).fault()
}

/** Scans the tags of a document in one pass. */
class Scanner {
  readonly #xml: string
  /** How many children each open element has. */
  readonly #children: number[] = [0]
  #spent: number
  #at: number

  constructor(xml: string, spent: number) {
    this.#xml = xml
    this.#spent = spent
    this.#at = afterDeclaration(xml)
  }

  fault(): string | undefined {
    for (;;) {
      if (this.#spent > MAX_COST) return 'it has too many elements, attributes or references'
      const next = this.#xml.indexOf('<', this.#at)
      if (next === -1) return undefined
      if (next > this.#at) this.#child()
      this.#at = next
      const fault = this.#isOther() ? this.#skip() : this.#tag()
      if (fault !== undefined) return fault
    }
  }

  /** Counts a child of the open element. */
  #child(): void {
    const before = this.#children.at(-1) ?? 0
    this.#children[this.#children.length - 1] = before + 1
    this.#spent += before / SIBLING_STEPS_PER_UNIT
  }

  #isOther(): boolean {
    const sign = this.#xml[this.#at + 1]
    return sign === '!' || sign === '?'
  }

  /** Skips a comment or similar part. */
  #skip(): string | undefined {
    const [, ending = '>'] = others.find(([start]) => this.#xml.startsWith(start, this.#at)) ?? []
    const end = this.#xml.indexOf(ending, this.#at)
    if (end === -1) return 'it is truncated'
    this.#at = end + ending.length
    this.#spent += cost.comment
    this.#child()
    return undefined
  }

  #tag(): string | undefined {
    const { end, attributes } = tagEnd(this.#xml, this.#at)
    if (end === -1) return 'it is truncated'
    if (attributes > MAX_ATTRIBUTES) return 'an element has too many attributes'
    const closes = this.#xml.charCodeAt(this.#at + 1) === SLASH
    this.#at = end + 1
    if (closes) {
      if (this.#children.length > 1) this.#children.pop()
      return undefined
    }
    this.#spent += cost.element + attributes * cost.attribute
    this.#child()
    if (this.#xml.charCodeAt(end - 1) === SLASH) return undefined
    return this.#children.push(0) > MAX_DEPTH ? 'it is nested too deeply' : undefined
  }
}

/** The position after `<?xml …?>`; a declaration of an encoding other than UTF-8 does not count. */
function afterDeclaration(xml: string): number {
  const [declaration = ''] =
    /^<\?xml version=["']1\.0["'](?: encoding=["']utf-8["'])?(?: standalone=["'](?:yes|no)["'])? ?\?>/i.exec(
      xml.slice(0, 100),
    ) ?? []
  return declaration.length
}

/** The end of a tag and the number of its quoted values; the end marker may occur inside quotes. */
function tagEnd(xml: string, from: number): { readonly end: number; readonly attributes: number } {
  let attributes = 0
  for (let at = from + 1; at < xml.length; at++) {
    const code = xml.charCodeAt(at)
    if (code === GREATER) return { end: at, attributes }
    if (code === LESS) break
    if (code !== DOUBLE_QUOTE && code !== SINGLE_QUOTE) continue
    attributes++
    at = xml.indexOf(code === DOUBLE_QUOTE ? '"' : "'", at + 1)
    if (at === -1) break
  }
  return { end: -1, attributes }
}
