import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COOKIE, types } from '#dns/message.ts'
import { DnsRateLimit } from '#dns/rate-limit.ts'
import { MAX_GROWTH, Responder } from '#dns/responder.ts'
import { ZoneTable } from '#dns/zone.ts'
import { exampleZone, UNLIMITED_RATE, opt, queryBytes } from './support.ts'

const ROUNDS = 200_000
const MAX_BYTES = 600

/** The same numbers in each run, so that a failure can be looked at. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const cookie = Buffer.concat([Buffer.from([0, COOKIE, 0, 24]), Buffer.alloc(24, 5)])
const corpus: readonly Buffer[] = [
  ...[
    'example.com',
    'A.example.COM',
    'big.acme.example.com',
    'round.example.com',
    '*.example.com',
    'x.org',
  ].flatMap(name => [types.A, types.TXT, types.ANY, types.SOA].map(type => queryBytes(name, type))),
  queryBytes('example.com', types.NS, { additional: [opt({ options: cookie })] }),
  queryBytes('two.acme.example.com', types.TXT, { additional: [opt({ payload: 65_535 }), opt()] }),
  queryBytes('a'.repeat(63).concat('.').repeat(3).concat('example.com'), types.A),
]

test(`${ROUNDS} broken queries bring nothing down and are never answered at length`, () => {
  const responder = new Responder({
    zones: new ZoneTable([exampleZone()]),
    limit: new DnsRateLimit(UNLIMITED_RATE),
  })
  const pick = numbers(20_240_607)
  let answered = 0
  const heap: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const bytes = mutated(corpus[pick(corpus.length)] ?? Buffer.alloc(0), pick)
    const over = round % 8 === 0 ? 'tcp' : 'udp'
    const reply = responder.respond(bytes, { address: '192.0.2.1', over })
    if (round % (ROUNDS / 4) === 0) heap.push(process.memoryUsage().heapUsed)
    if (reply === undefined) continue
    answered++
    assert.equal(reply.readUInt16BE(0), bytes.readUInt16BE(0))
    assert.equal(reply.readUInt8(2) & 0x80, 0x80, 'a reply')
    assert.equal(reply.readUInt8(3) & 0x80, 0, 'no recursion')
    if (over === 'udp') assert.ok(reply.length <= MAX_GROWTH * bytes.length && reply.length <= 1232)
  }
  assert.ok(answered > ROUNDS / 4, 'the mutations leave enough to be answered')
  const [, second = 0, , last = 0] = heap
  assert.ok(last - second < 64 * 2 ** 20, `the heap grew from ${second} to ${last}`)
})

/** One to eight changes: bits, bytes, numbers at places of lengths, cuts, repetitions, joins. */
function mutated(original: Buffer, pick: (below: number) => number): Buffer {
  let bytes = Buffer.from(original)
  for (let changes = 1 + pick(8); changes > 0; changes--) {
    const at = pick(bytes.length || 1)
    const kind = pick(7)
    if (bytes.length === 0 || kind === 0) bytes = Buffer.concat([bytes, Buffer.from([pick(256), pick(256)])])
    else if (kind === 1) bytes[at] = (bytes[at] ?? 0) ^ (1 << pick(8))
    else if (kind === 2) bytes[at] = [0, 1, 0x3f, 0x40, 0x7f, 0x80, 0xc0, 0xff][pick(8)] ?? 0
    else if (kind === 3) bytes[4 + pick(8)] = pick(4)
    else if (kind === 4 && pick(4) === 0) bytes = bytes.subarray(0, at)
    else if (kind === 5) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(pick(at + 1))])
    else bytes[at] = pick(256)
  }
  return bytes.subarray(0, MAX_BYTES)
}
