import type { Attr, Node } from '@xmldom/xmldom'
import { type Element, escapeAttribute, escapeText, isElement, nodesOf } from '#auth/saml/xml.ts'

const XMLNS = 'http://www.w3.org/2000/xmlns/'
const TEXT_NODE = 3
/** How prefix lists write the empty prefix. */
const DEFAULT_PREFIX = '#default'

/** Namespaces by prefix, the default one under the empty prefix; inherited from outer elements. */
class Namespaces {
  readonly #own: ReadonlyMap<string, string>
  readonly #around: Namespaces | undefined

  constructor(own: Iterable<readonly [string, string]> = [], around?: Namespaces) {
    this.#own = new Map(own)
    this.#around = around
  }

  get(prefix: string): string | undefined {
    return this.#own.get(prefix) ?? this.#around?.get(prefix)
  }
}

interface Rules {
  /** Omitted with its content: the signature itself. */
  readonly without: Element | undefined
  /** Prefixes that are declared wherever they are in scope. */
  readonly inclusive: readonly string[]
}

/**
 * An element in canonical form: Exclusive XML Canonicalization 1.0 without comments. A mistake here only makes
 * signatures fail: it cannot let anything in, because what was signed is read from its result.
 */
export function canonical(element: Element, { without, inclusive = [] }: Partial<Rules> = {}): string {
  const rules = { without, inclusive: inclusive.map(prefix => (prefix === DEFAULT_PREFIX ? '' : prefix)) }
  return written(element, inScopeAround(element), new Namespaces(), rules)
}

function written(element: Element, around: Namespaces, rendered: Namespaces, rules: Rules): string {
  const inScope = scopeOf(element, around)
  const plain = [...element.attributes].filter(each => !isDeclaration(each))
  const declared = toDeclare({ element, plain, inScope, rendered, rules })
  const name = element.tagName
  const head =
    declared.map(([prefix, uri]) => ` xmlns${prefix && `:${prefix}`}="${escapeAttribute(uri)}"`).join('') +
    plain
      .toSorted(byName)
      .map(each => ` ${each.name}="${escapeAttribute(each.value)}"`)
      .join('')
  const below = declared.length === 0 ? rendered : new Namespaces(declared, rendered)
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

/**
 * The namespaces that an element must declare: the prefixes that it uses, unless an outer element declared the same.
 */
function toDeclare({ element, plain, inScope, rendered, rules }: Declaring): [string, string][] {
  const used = new Set([
    element.prefix ?? '',
    ...plain.flatMap(({ prefix }) => prefix ?? []),
    ...rules.inclusive.filter(prefix => inScope.get(prefix) !== undefined),
  ])
  used.delete('xml')
  return [...used]
    .map(prefix => [prefix, inScope.get(prefix) ?? ''] as [string, string])
    .filter(([prefix, uri]) => (rendered.get(prefix) ?? '') !== uri)
    .toSorted(([left], [right]) => compare(left, right))
}

function inScopeAround({ parentNode }: Element): Namespaces {
  return parentNode !== null && isElement(parentNode)
    ? scopeOf(parentNode, inScopeAround(parentNode))
    : new Namespaces()
}

function scopeOf({ attributes }: Element, around: Namespaces): Namespaces {
  const own = [...attributes]
    .filter(isDeclaration)
    .map(({ prefix, localName, value }) => [prefix === null ? '' : (localName ?? ''), value] as const)
  return own.length === 0 ? around : new Namespaces(own, around)
}

const isDeclaration = ({ namespaceURI }: Attr): boolean => namespaceURI === XMLNS

const byName = (left: Attr, right: Attr): number =>
  compare(left.namespaceURI ?? '', right.namespaceURI ?? '') ||
  compare(left.localName ?? '', right.localName ?? '')

const compare = (left: string, right: string): number => (left < right ? -1 : left > right ? 1 : 0)
