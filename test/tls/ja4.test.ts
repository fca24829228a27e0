import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { ConnectionOptions } from 'node:tls'
import { ja4Of } from '#tls/ja4.ts'
import { parseClientHello } from '#tls/client-hello.ts'
import { helloBytes } from '../gateway/listeners/support.ts'

const uint16 = (value: number): Buffer => Buffer.from([value >> 8, value & 0xff])
const sized = (bytes: Buffer, size: 1 | 2): Buffer =>
  Buffer.concat([size === 1 ? Buffer.from([bytes.length]) : uint16(bytes.length), bytes])
const numbers = (text: string): Buffer => Buffer.from(text.replaceAll(',', ''), 'hex')

interface Hello {
  readonly version?: number
  /** Four hex digits each, separated by commas. */
  readonly ciphers: string
  /** Undefined: there is no list at all. */
  readonly extensions?: readonly (readonly [type: number, content: Buffer])[]
}

function message({ version = 0x0303, ciphers, extensions }: Hello): Buffer {
  const list = extensions?.map(([type, content]) => Buffer.concat([uint16(type), sized(content, 2)]))
  const body = Buffer.concat([
    uint16(version),
    Buffer.alloc(32, 7),
    sized(Buffer.alloc(32, 8), 1),
    sized(numbers(ciphers), 2),
    sized(Buffer.from([0]), 1),
    ...(list ? [sized(Buffer.concat(list), 2)] : []),
  ])
  return Buffer.concat([Buffer.from([1, 0]), uint16(body.length), body])
}

const record = (fragment: Buffer): Buffer => Buffer.concat([Buffer.from([22, 3, 1]), sized(fragment, 2)])
const hello = (parts: Hello): Buffer => record(message(parts))

const serverName = [0, sized(Buffer.concat([Buffer.from([0]), sized(Buffer.from('a.test'), 2)]), 2)] as const
const alpn = (...names: string[]) =>
  [0x10, sized(Buffer.concat(names.map(name => sized(Buffer.from(name, 'latin1'), 1))), 2)] as const
const signatures = (list: string) => [0x0d, sized(numbers(list), 2)] as const
const supported = (list: string) => [0x2b, sized(numbers(list), 1)] as const
const empty = (...types: number[]) => types.map(type => [type, Buffer.alloc(0)] as const)

/** The client of the example in the description of the algorithm: Chrome, with its invented values and its order. */
const chrome: Hello = {
  ciphers: '1a1a,1301,1302,1303,c02b,c02f,c02c,c030,cca9,cca8,c013,c014,009c,009d,002f,0035',
  extensions: [
    ...empty(0x3a3a, 0x1b),
    serverName,
    ...empty(0x33),
    alpn('h2', 'http/1.1'),
    ...empty(0x4469, 0x17, 0x2d),
    signatures('0403,0804,0401,0503,0805,0501,0806,0601'),
    ...empty(0x05, 0x23, 0x12),
    supported('2a2a,0304,0303'),
    ...empty(0xff01, 0x0b, 0x0a, 0x15, 0x5a5a),
  ],
}

suite('JA4', () => {
  test('is as published for a known client', () => {
    assert.equal(ja4Of(hello(chrome)), 't13d1516h2_8daaf6152771_e5627efa2ab1')
  })

  test('does not depend on the order of ciphers and extensions, nor on how it was cut', () => {
    const ciphers = chrome.ciphers.split(',').toReversed().join(',')
    const shuffled = message({ ciphers, extensions: chrome.extensions?.toReversed() ?? [] })
    const cut = [shuffled.subarray(0, 3), shuffled.subarray(3, 90), shuffled.subarray(90)]
    // What comes behind it is not part of it.
    const bytes = Buffer.concat([...cut.map(record), Buffer.from([20, 3, 3, 0, 1, 1, 23])])
    assert.equal(parseClientHello(bytes).kind, 'hello')
    assert.equal(ja4Of(bytes), ja4Of(hello(chrome)))
  })

  for (const [what, parts, expected] of [
    ['nothing but ciphers', { ciphers: '002f', version: 0x0301 }, /^t10i010000_[0-9a-f]{12}_0{12}$/],
    ['no cipher that counts', { ciphers: '0a0a', extensions: [] }, /^t12i000000_0{12}_0{12}$/],
    ['an unknown version', { ciphers: '002f', version: 0x03ff }, /^t00i0100/],
    ['only invented versions', { ciphers: '002f', extensions: [supported('0a0a')] }, /^t00i010100_/],
    ['a protocol of one letter', { ciphers: '002f', extensions: [alpn('h')] }, /^t12i0101hh_/],
    ['a protocol of other bytes', { ciphers: '002f', extensions: [alpn('\xab\xcd')] }, /^t12i0101ad_/],
    ['more than can be counted', { ciphers: '002f,'.repeat(150).slice(0, -1) }, /^t12i990000_/],
  ] as const) {
    test(`knows of ${what}`, () => assert.match(ja4Of(hello(parts)), expected))
  }

  test('distinguishes clients of OpenSSL by what they offer, and not by the host they connect to', async () => {
    const one = await fingerprintOf({ servername: 'one.test', ALPNProtocols: ['h2'] })
    assert.equal(await fingerprintOf({ servername: 'another.example', ALPNProtocols: ['h2'] }), one)
    assert.match(one, /^t13d\d{4}h2_[0-9a-f]{12}_[0-9a-f]{12}$/)
    const other = await fingerprintOf({
      servername: 'one.test',
      ALPNProtocols: ['h2'],
      ciphers: 'AES128-SHA',
    })
    assert.notEqual(other.split('_')[1], one.split('_')[1])
    assert.equal(other.split('_')[2], one.split('_')[2])
    assert.match(await fingerprintOf({ maxVersion: 'TLSv1.2' }), /^t12i\d{4}00_/)
  })
})

/** Of a client of node, which is one of OpenSSL. */
const fingerprintOf = async (options: ConnectionOptions): Promise<string> => ja4Of(await helloBytes(options))
