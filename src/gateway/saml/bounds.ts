const MAX_DEPTH = 64
const MAX_ATTRIBUTES = 64
const MAX_ELEMENTS = 10_000

const LESS = 0x3c
const GREATER = 0x3e
const SLASH = 0x2f
const DOUBLE_QUOTE = 0x22
const SINGLE_QUOTE = 0x27

/**
 * Why XML is not even parsed; undefined when it may be. Anybody can send it, so what could make a parser work for long
 * (deep nesting, many attributes) is found here, in one pass. Markup declarations, comments, CDATA sections and
 * processing instructions are in no message of SAML: they only serve to make two readers see different texts.
 */
export function boundsFault(xml: string): string | undefined {
  let depth = 0
  let elements = 0
  for (let at = xml.indexOf('<', afterDeclaration(xml)); at !== -1; at = xml.indexOf('<', at)) {
    const sign = xml[at + 1]
    if (sign === '!') return 'it has a document type, a comment or a CDATA section'
    if (sign === '?') return 'it has a processing instruction'
    const { end, attributes } = tagEnd(xml, at)
    if (end === -1) return 'it is cut off'
    if (attributes > MAX_ATTRIBUTES) return 'an element has too many attributes'
    if (sign === '/') depth--
    else if (++elements > MAX_ELEMENTS) return 'it has too many elements'
    else if (xml.charCodeAt(end - 1) !== SLASH && ++depth > MAX_DEPTH) return 'it is nested too deeply'
    at = end
  }
  return undefined
}

/** Where the text after `<?xml …?>` begins; a declaration of another encoding than UTF-8 is none. */
function afterDeclaration(xml: string): number {
  const [declaration = ''] =
    /^<\?xml version=["']1\.0["'](?: encoding=["']utf-8["'])?(?: standalone=["'](?:yes|no)["'])? ?\?>/i.exec(
      xml.slice(0, 100),
    ) ?? []
  return declaration.length
}

/** The end of a tag and how many quoted values it has; quotes may hide the sign that ends it. */
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
