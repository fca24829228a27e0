import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { ExclusiveCanonicalization } from 'xml-crypto'
import { canonical } from '#auth/saml/canonical.ts'
import { type Element, elementsOf, readMessage } from '#auth/saml/xml.ts'

const theirs = (element: Element): string =>
  new ExclusiveCanonicalization().process(element, { ancestorNamespaces: [] })

interface Node {
  readonly prefix: string
  readonly declares: readonly string[]
  readonly attributes: readonly string[]
  readonly children: readonly (Node | string)[]
}

const prefixes = ['', 'a', 'b']
const text = fc.string({
  unit: fc.constantFrom('x', ' ', '&', '<', '>', '"', '\t', '\n', '\r', 'é', '𝄞'),
  maxLength: 6,
})
const { node } = fc.letrec<{ node: Node }>(tie => ({
  node: fc.record({
    prefix: fc.constantFrom(...prefixes),
    declares: fc.subarray(prefixes),
    attributes: fc.subarray(['x', 'y', 'a:x', 'b:x', 'a:y']),
    children: fc.array(fc.oneof({ maxDepth: 4 }, text, tie('node')), { maxLength: 3 }),
  }),
}))

const escaped = (value: string): string =>
  value.replace(/[&<>"\t\n\r]/g, sign => `&#x${(sign.codePointAt(0) ?? 0).toString(16)};`)

/** The outermost declares everything, so that every prefix means something. */
function xmlOf({ prefix, declares, attributes, children }: Node, depth = 0): string {
  const name = prefix === '' ? 'e' : `${prefix}:e`
  const all = depth === 0 ? prefixes : declares
  const declared = all.map(each => ` xmlns${each && `:${each}`}="urn:${each}${depth % 2}"`).join('')
  const given = attributes.map(each => ` ${each}="${escaped(`"${each}<\t`)}"`).join('')
  const content = children.map(each => (typeof each === 'string' ? escaped(each) : xmlOf(each, depth + 1)))
  return `<${name}${declared}${given}>${content.join('')}</${name}>`
}

suite('canonical form', () => {
  test('is what another program makes of the same', () => {
    fc.assert(
      fc.property(node, tree => {
        const root = readMessage(xmlOf(tree))
        assert.equal(canonical(root), theirs(root))
        // A part is written as if it stood alone.
        for (const child of elementsOf(root)) assert.equal(canonical(child), theirs(child))
      }),
      { numRuns: 500 },
    )
  })

  test('is the same when it is made again of itself', () => {
    fc.assert(
      fc.property(node, tree => {
        const once = canonical(readMessage(xmlOf(tree)))
        assert.equal(canonical(readMessage(once)), once)
      }),
      { numRuns: 200 },
    )
  })

  test('declares a prefix where it is used, and again only where it changed', () => {
    const root = readMessage(
      '<r xmlns:a="urn:1" xmlns:b="urn:2"><a:x b:z="1" y="2"><a:q/><a:w xmlns:a="urn:3"/></a:x></r>',
    )
    assert.equal(
      canonical(root),
      '<r><a:x xmlns:a="urn:1" xmlns:b="urn:2" y="2" b:z="1"><a:q></a:q><a:w xmlns:a="urn:3"></a:w></a:x></r>',
    )
  })

  test('declares listed prefixes wherever they are in scope', () => {
    const root = readMessage(
      '<r xmlns="urn:0" xmlns:a="urn:1" xmlns:b="urn:2"><b:x><b:y xmlns:a="urn:3"/></b:x></r>',
    )
    const [child] = elementsOf(root)
    assert.ok(child)
    assert.equal(
      canonical(child, { inclusive: ['a', '#default', 'unknown'] }),
      '<b:x xmlns="urn:0" xmlns:a="urn:1" xmlns:b="urn:2"><b:y xmlns:a="urn:3"></b:y></b:x>',
    )
  })

  test('declares where the default namespace ends', () => {
    const root = readMessage('<r xmlns="urn:0"><x xmlns=""><y/><z xmlns="urn:0"/></x></r>')
    assert.equal(canonical(root), '<r xmlns="urn:0"><x xmlns=""><y></y><z xmlns="urn:0"></z></x></r>')
  })

  test('leaves out what it is configured to', () => {
    const root = readMessage('<r>1<s><t/></s>2<s/></r>')
    const [first] = elementsOf(root)
    assert.equal(canonical(root, { without: first }), '<r>12<s></s></r>')
  })
})
