import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { HpackDecoder } from '#http2/hpack-decoder.ts'
import { HpackEncoder } from '#http2/hpack-encoder.ts'
import { huffmanLength, huffmanText, writeHuffman } from '#http2/huffman.ts'
import { ConnectionFault } from '#http2/protocol.ts'
import { ask } from '../http/http2/support.ts'
import { randomFrom, reader, serve } from './support.ts'

const LIMITS = { listBytes: 65_536, fields: 256 }
const ROUNDS = process.env['TEST_LONG'] === undefined ? 300 : 20_000

const decoded = (bytes: Buffer, decoder = new HpackDecoder(LIMITS)): string[] =>
  (decoder.decode(bytes, 0, bytes.length) ?? []).map(({ name, value }) => `${name}: ${value}`)

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')

/** Names and values of any printable characters, some of them again and again. */
function randomLines(random: (below: number) => number): string[] {
  return Array.from({ length: random(12) }, () => {
    const isUsual = random(3) > 0
    const name = isUsual ? `x-${random(9)}` : `x-${random(1e9).toString(36)}`
    const character = (): string =>
      String.fromCharCode(0x21 + random(isUsual ? 0x5e : 0xde)).replace(/[\x7f-\xa0]/, '~')
    const value = isUsual ? `v${random(5)}` : Array.from({ length: random(80) }, character).join('')
    return `${name}: ${value}`
  })
}

suite('HPACK', () => {
  test('decodes the examples of RFC 7541, appendix C.4', () => {
    const decoder = new HpackDecoder(LIMITS)
    const first = [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com']
    assert.deepEqual(decoded(hex('8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff'), decoder), first)
    assert.deepEqual(decoded(hex('8286 84be 5886 a8eb 1064 9cbf'), decoder), [
      ...first,
      'cache-control: no-cache',
    ])
    assert.deepEqual(decoded(hex('8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf'), decoder), [
      ':method: GET',
      ':scheme: https',
      ':path: /index.html',
      ':authority: www.example.com',
      'custom-key: custom-value',
    ])
  })

  const invalid: Record<string, string> = {
    'an index of 0': '80',
    'an index beyond the tables': 'be',
    'an integer without end': 'ff ffff ffff ffff',
    'an integer that is cut off': 'ff ff',
    'a text that is cut off': '00 05 6161',
    'a name without a value': '00 01 61',
    'a code with too much padding': '00 01 61 82 ffff',
    'a code whose padding is not all ones': '00 01 61 81 18',
    'a code with the end of a string': '00 01 61 84 ffff ffff',
    'a table size above the limit': '3f e2 1f',
    'a table size behind a field': '82 20',
    'three table sizes': '20 20 20',
  }
  for (const [name, bytes] of Object.entries(invalid))
    test(`rejects ${name}`, () => {
      assert.throws(() => decoded(hex(bytes)), ConnectionFault)
    })

  test('drops a list that is too large, and keeps its own state', () => {
    const decoder = new HpackDecoder({ listBytes: 200, fields: 3 })
    const entry = hex('40 01 61 01 62')
    assert.equal(decoder.decode(Buffer.concat([entry, Buffer.alloc(20, 0xbe)]), 0, 25), undefined)
    assert.deepEqual(decoded(hex('be'), decoder), ['a: b'])
  })

  test('encodes and decodes every byte', () => {
    const all = String.fromCharCode(...Array.from({ length: 256 }, (_, code) => code))
    for (const text of [all, ...all.split('')]) {
      const bytes = Buffer.alloc(2048)
      const end = writeHuffman(text, bytes, 0)
      assert.equal(end, huffmanLength(text))
      assert.equal(huffmanText(bytes, 0, end), text)
    }
  })

  test('encodes for its own decoder, whatever the table size', () => {
    const random = randomFrom(7)
    const encoder = new HpackEncoder()
    const decoder = new HpackDecoder(LIMITS)
    for (let round = 0; round < ROUNDS; round++) {
      if (random(20) === 0) encoder.limitTable([0, 100, 4096, 65_536][random(4)] ?? 0)
      const lines = randomLines(random)
      const block = Buffer.from(encoder.encode(200, undefined, lines.map(line => `${line}\r\n`).join('')))
      assert.deepEqual(decoded(block, decoder), [':status: 200', ...lines])
    }
  })

  test('encodes a repeated head for its own decoder, whatever changes the table meanwhile', () => {
    const random = randomFrom(8)
    const encoder = new HpackEncoder()
    const decoder = new HpackDecoder(LIMITS)
    const heads = Array.from({ length: 3 }, () => randomLines(random))
    for (let round = 0; round < 10 * ROUNDS; round++) {
      if (random(50) === 0) encoder.limitTable([0, 300, 4096][random(3)] ?? 0)
      const lines = random(20) === 0 ? randomLines(random) : (heads[random(10) === 0 ? random(3) : 0] ?? [])
      const status = random(10) === 0 ? 404 : 200
      const length = random(10) === 0 ? undefined : 5
      const text = lines.map(line => `${line}\r\n`).join('')
      const block = Buffer.from(encoder.encode(status, length, text, { name: 'x-id', value: `${round}` }))
      const announced = length === undefined ? [] : [`content-length: ${length}`]
      assert.deepEqual(decoded(block, decoder), [
        `:status: ${status}`,
        ...announced,
        ...lines,
        `x-id: ${round}`,
      ])
    }
  })

  test('agrees with nghttp2 both ways', async () => {
    const random = randomFrom(11)
    await using host = await serve((stream, { fields }) => {
      stream.attach(reader())
      stream.respond(200, undefined, fields.map(({ name, value }) => `${name}: ${value}\r\n`).join(''))
      stream.end()
    })
    const client = await host.client()
    for (let round = 0; round < ROUNDS; round++) {
      const sent = Object.fromEntries(randomLines(random).map(line => line.split(': ') as [string, string]))
      const { headers } = await ask(client, { ':path': '/', ...sent })
      assert.deepEqual(Object.fromEntries(Object.entries(headers)), { ':status': 200, ...sent })
    }
  })
})
