import type { Attr, Node } from '@xmldom/xmldom'
import { type Element, escapeAttribute, escapeText, isElement, nodesOf } from '#gateway/saml/xml.ts'

const XMLNS = 'http://www.w3.org/2000/xmlns/'
const TEXT_NODE = 3

/** Addresses by prefix; the default one under the empty prefix. */
type Namespaces = ReadonlyMap<string, string>

interface Rules {
  /** Left out with all that is in it: the signature itself. */
  readonly without: Element | undefined
  /** Prefixes that are declared wherever they are in scope. */
  readonly inclusive: readonly string[]
}

/**
 * An element in the form that signatures are made over: Exclusive XML Canonicalization 1.0 without comments. Were it
 * wrong, signatures would not match: it cannot let anything in, because what was signed is read from its result.
 */
export function canonical(element: Element, { without, inclusive = [] }: Partial<Rules> = {}): string {
  const rules = { without, inclusive: inclusive.map(prefix => (prefix === '#default' ? '' : prefix)) }
  return written(element, inScopeAbove(element), new Map(), rules)
}

function written(element: Element, above: Namespaces, rendered: Namespaces, rules: Rules): string {
  const attributes = [...element.attributes]
  const inScope = new Map(above)
  for (const { prefix, localName, value } of attributes.filter(isDeclaration))
    inScope.set(prefix === null ? '' : (localName ?? ''), value)
  const plain = attributes.filter(each => !isDeclaration(each))
  const declared = toDeclare({ element, plain, inScope, rendered, rules })
  const name = element.tagName
  const head =
    declared.map(([prefix, uri]) => ` xmlns${prefix && `:${prefix}`}="${escapeAttribute(uri)}"`).join('') +
    plain
      .toSorted(byName)
      .map(each => ` ${each.name}="${escapeAttribute(each.value)}"`)
      .join('')
  const below = declared.length === 0 ? rendered : new Map([...rendered, ...declared])
  let content = ''
  for (const node of nodesOf(element)) content += contentOf(node, inScope, below, rules)
  return `<${name}${head}>${content}</${name}>`
}

function contentOf(node: Node, inScope: Namespaces, rendered: Namespaces, rules: Rules): string {
  if (node === rules.without) return ''
  if (isElement(node)) return written(node, inScope, rendered, rules)
  return node.nodeType === TEXT_NODE ? escapeText(node.nodeValue ?? '') : ''
}

interface Declaring {
  readonly element: Element
  readonly plain: readonly Attr[]
  readonly inScope: Namespaces
  readonly rendered: Namespaces
  readonly rules: Rules
}

/** What an element must declare: the prefixes that it uses, where no element around it has said the same. */
function toDeclare({ element, plain, inScope, rendered, rules }: Declaring): [string, string][] {
  const used = new Set([
    element.prefix ?? '',
    ...plain.flatMap(({ prefix }) => prefix ?? []),
    ...rules.inclusive.filter(prefix => inScope.has(prefix)),
  ])
  used.delete('xml')
  return [...used]
    .map(prefix => [prefix, inScope.get(prefix) ?? ''] as [string, string])
    .filter(([prefix, uri]) => (rendered.get(prefix) ?? '') !== uri)
    .toSorted(([left], [right]) => compare(left, right))
}

function inScopeAbove(element: Element): Namespaces {
  const found = new Map<string, string>()
  for (let node = element.parentNode; node !== null && isElement(node); node = node.parentNode) {
    for (const each of [...node.attributes].filter(isDeclaration)) {
      const prefix = each.prefix === null ? '' : (each.localName ?? '')
      if (!found.has(prefix)) found.set(prefix, each.value)
    }
  }
  return found
}

const isDeclaration = ({ namespaceURI }: Attr): boolean => namespaceURI === XMLNS

const byName = (left: Attr, right: Attr): number =>
  compare(left.namespaceURI ?? '', right.namespaceURI ?? '') ||
  compare(left.localName ?? '', right.localName ?? '')

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)
