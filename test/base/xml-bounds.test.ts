import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { documentFault, messageFault } from '#base/xml-bounds.ts'

const many = (part: string, count: number): string => `<a>${part.repeat(count)}</a>`
const attributes = (count: number): string => Array.from({ length: count }, (_, at) => ` a${at}="x"`).join('')

suite('the bounds of XML', () => {
  for (const [what, xml] of [
    ['elements', many('<b/>', 2000)],
    ['elements with text', many('<b>x</b>', 2000)],
    ['texts between elements', many('<b/>x', 1000)],
    ['attributes', many(`<b${attributes(60)}/>`, 100)],
    ['attributes of one element', `<a${attributes(65)}/>`],
    ['namespaces', many('<b xmlns:c="d"/>', 1000)],
    ['references', many('&amp;', 10_000)],
    ['comments', many('<!-- -->', 2000)],
    ['CDATA sections', many('<![CDATA[<b>]]>', 2000)],
    ['instructions', many('<?b?>', 2000)],
    ['levels', '<a>'.repeat(65) + '</a>'.repeat(65)],
    ['document types', '<!DOCTYPE a><a/>'],
    ['unfinished parts', '<a><b'],
    ['unfinished comments', '<a><!-- </a>'],
  ] as const)
    test(`reject many ${what}`, () => assert.notEqual(documentFault(xml), undefined))

  for (const [what, xml] of [
    ['the groups of a person', many('<b c="d">group</b>', 300)],
    ['long texts', many('x', 250_000)],
    [
      'tags in comments and CDATA sections',
      `<a><!-- ${'<b>'.repeat(5000)} --><![CDATA[${'<b>'.repeat(5000)}]]></a>`,
    ],
    ['signs in quotes', '<a b=">/&gt;<!-- "/>'.replace('<!-- ', '')],
    ['a declaration', '<?xml version="1.0" encoding="UTF-8"?><a/>'],
  ] as const)
    test(`allow ${what}`, () => assert.equal(documentFault(xml), undefined))

  test('reject in messages what only hides things', () => {
    for (const part of ['<!-- -->', '<![CDATA[x]]>', '<?x?>'])
      assert.match(messageFault(`<a>${part}</a>`) ?? '', /comment|CDATA|instruction/)
    assert.equal(messageFault('<?xml version="1.0"?><a>x</a>'), undefined)
  })
})
