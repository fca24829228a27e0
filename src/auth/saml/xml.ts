import { DOMParser, ParseError, type Element, type Node } from '@xmldom/xmldom'
import { documentFault, messageFault } from '#base/xml-bounds.ts'

export type { Element } from '@xmldom/xmldom'

/** Invalid XML; the message is the reason, as the end of a sentence. */
export class XmlFault extends Error {
  override readonly name = 'XmlFault'
}

const bad = (reason: string): never => {
  throw new XmlFault(reason)
}

/** The root element of an untrusted message. */
export function readMessage(xml: string): Element {
  const fault = messageFault(xml)
  return fault === undefined ? parsed(xml) : bad(fault)
}

/** The root element of XML from its owner; comments are allowed there. */
export function readXml(xml: string): Element {
  const fault = documentFault(xml)
  return fault === undefined ? parsed(xml) : bad(fault)
}

function parsed(xml: string): Element {
  // The parser repairs what it only warns about, and then it is no longer what was sent.
  const onError = (_level: string, message: string) => {
    throw new ParseError(message)
  }
  const parser = new DOMParser({ onError })
  try {
    return parser.parseFromString(xml, 'text/xml').documentElement ?? bad('it is empty')
  } catch (error) {
    if (error instanceof XmlFault) throw error
    return bad('it is not well-formed XML')
  }
}

export const isElement = (node: Node): node is Element => node.nodeType === 1
const isText = (node: Node): boolean => node.nodeType === 3

export function* nodesOf(element: Node): Generator<Node> {
  for (let node = element.firstChild; node !== null; node = node.nextSibling) yield node
}

export const elementsOf = (element: Element): Element[] => [...nodesOf(element)].filter(isElement)

/** An element and its descendants. */
export function within(element: Element): Element[] {
  const found = [element]
  // Grows during the iteration; each element has one parent, so none is visited twice.
  for (const each of found) found.push(...elementsOf(each))
  return found
}

export const isNamed = (element: Element, namespace: string, name: string): boolean =>
  element.localName === name && element.namespaceURI === namespace

export const allNamed = (parent: Element, namespace: string, name: string): Element[] =>
  elementsOf(parent).filter(element => isNamed(element, namespace, name))

/** The only child of that name; undefined when there is none. */
export function maybeOne(parent: Element, namespace: string, name: string): Element | undefined {
  const [first, second] = allNamed(parent, namespace, name)
  return second === undefined ? first : bad(`it has more than one ${name}`)
}

export const one = (parent: Element, namespace: string, name: string): Element =>
  maybeOne(parent, namespace, name) ?? bad(`it has no ${name}`)

/** The text of an element without child elements. */
export function textIn(element: Element): string {
  const parts = [...nodesOf(element)]
  if (!parts.every(isText)) bad(`${element.localName} does not contain only text`)
  return parts
    .map(node => node.nodeValue ?? '')
    .join('')
    .trim()
}

/** An attribute without a namespace; undefined when it is absent. */
export const attribute = (element: Element, name: string): string | undefined =>
  element.getAttributeNS(null, name) ?? undefined

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** Decodes base64 that may contain line breaks. */
export function base64(text: string): Buffer {
  const joined = text.replace(/[ \t\r\n]+/g, '')
  return BASE64.test(joined) ? Buffer.from(joined, 'base64') : bad('it has something that is not base64')
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  '\t': '&#x9;',
  '\n': '&#xA;',
  '\r': '&#xD;',
}
const escaped = (sign: string): string => ESCAPES[sign] ?? sign

/** Text and attribute values in canonical XML form, which we also write. */
export const escapeText = (text: string): string => text.replace(/[&<>\r]/g, escaped)
export const escapeAttribute = (text: string): string => text.replace(/[&<"\t\n\r]/g, escaped)
