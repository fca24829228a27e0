import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { encodeProxyProtocol } from '#gateway/backends/proxy-protocol.ts'
import { parseProxyHeader, proxyHeaderLength } from '#tunnel/proxy-protocol.ts'

const source = { ip: '203.0.113.7', port: 51_000 }
const destination = { ip: '198.51.100.1', port: 443 }
const source6 = { ip: '2001:db8::7', port: 51_000 }
const destination6 = { ip: '2001:db8::1', port: 443 }

suite('a PROXY header', () => {
  for (const version of [1, 2] as const) {
    test(`of version ${version} is read as it was written, however it is split`, () => {
      for (const addresses of [
        { source, destination },
        { source: source6, destination: destination6 },
      ]) {
        const header = encodeProxyProtocol(version, addresses.source, addresses.destination)
        assert.equal(proxyHeaderLength(Buffer.concat([header, Buffer.from('GET /')])), header.length)
        for (let end = 0; end < header.length; end++)
          assert.equal(proxyHeaderLength(header.subarray(0, end)), undefined, `${end} bytes`)
        assert.deepEqual(parseProxyHeader(header), addresses)
      }
    })
  }

  test('of a health check has no addresses', () => {
    assert.equal(parseProxyHeader(Buffer.from('PROXY UNKNOWN\r\n')), undefined)
    const local = encodeProxyProtocol(2, source, destination)
    local[12] = 0x20
    assert.equal(parseProxyHeader(local), undefined)
  })

  test('shows an IPv4 client of a dual-stack proxy as IPv4', () => {
    const mixed = encodeProxyProtocol(2, source, destination6)
    assert.equal(parseProxyHeader(mixed)?.source.ip, source.ip)
    assert.equal(
      parseProxyHeader(Buffer.from('PROXY TCP6 ::ffff:203.0.113.7 ::1 1 2\r\n'))?.source.ip,
      source.ip,
    )
  })

  for (const line of [
    'PROXY TCP4 203.0.113.7 198.51.100.1 51000\r\n',
    'PROXY TCP4 203.0.113.7 198.51.100.1 51000 443 1\r\n',
    'PROXY TCP4 203.0.113.7 198.51.100.1 51000 65536\r\n',
    'PROXY TCP4 203.0.113.7 198.51.100.1 -1 443\r\n',
    'PROXY TCP4 2001:db8::7 198.51.100.1 1 443\r\n',
    'PROXY TCP6 203.0.113.7 198.51.100.1 1 443\r\n',
    'PROXY UDP4 203.0.113.7 198.51.100.1 1 443\r\n',
    'PROXY TCP4  203.0.113.7 198.51.100.1 1 443\r\n',
    'PROXY TCP4 localhost 198.51.100.1 1 443\r\n',
  ])
    test(`is rejected if it is ${JSON.stringify(line)}`, () => {
      assert.throws(() => parseProxyHeader(Buffer.from(line)), /PROXY header is invalid/)
    })

  test('is bounded, and is missing as soon as the first byte shows it', () => {
    assert.throws(() => proxyHeaderLength(Buffer.from('G')), /no PROXY header/)
    assert.throws(() => proxyHeaderLength(Buffer.from([0x16, 3, 1])), /no PROXY header/)
    assert.throws(() => proxyHeaderLength(Buffer.from(`PROXY ${'x'.repeat(101)}`)), /no end/)
    const long = encodeProxyProtocol(2, source, destination)
    long.writeUInt16BE(0xffff, 14)
    assert.throws(() => proxyHeaderLength(long), /too long/)
    const short = encodeProxyProtocol(2, source, destination)
    short.writeUInt16BE(4, 14)
    assert.throws(() => parseProxyHeader(short.subarray(0, 20)), /invalid/)
    const unix = encodeProxyProtocol(2, source, destination)
    unix[13] = 0x31
    assert.throws(() => parseProxyHeader(unix), /invalid/)
  })
})
