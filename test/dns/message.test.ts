import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { COOKIE, rcodes, readQuery, types, type Query } from '#dns/message.ts'
import { opt, queryBytes, wireName } from './support.ts'

const fault = (bytes: Buffer): number | string => {
  const reading = readQuery(bytes)
  return reading.is === 'fault' ? reading.rcode : reading.is
}

function read(bytes: Buffer): Query {
  const reading = readQuery(bytes)
  assert.ok(reading.is === 'query')
  return reading.query
}

const patched = (bytes: Buffer, at: number, ...values: number[]): Buffer => {
  const copy = Buffer.from(bytes)
  copy.set(values, at)
  return copy
}

const plain = queryBytes('www.Example.com', types.A)
const question = plain.subarray(12)

suite('a query', () => {
  test('is read with its name in lower case and its question as it came', () => {
    const query = read(plain)
    assert.equal(query.name, 'www.example.com')
    assert.equal(query.type, types.A)
    assert.equal(query.class, 1)
    assert.equal(query.id, 0x1234)
    assert.deepEqual(query.question, question)
    assert.equal(query.edns, undefined)
  })

  test('of a name with a dot in a label is not one of another name', () => {
    const name = Buffer.concat([Buffer.from('\x0bwww.example'), wireName('com')])
    const { name: text } = read(Buffer.concat([plain.subarray(0, 12), name, question.subarray(-4)]))
    assert.notEqual(text, 'www.example.com')
    assert.equal(text.split('.').length, 2)
  })

  test('for the root has an empty name', () => {
    assert.equal(read(Buffer.concat([plain.subarray(0, 12), Buffer.from([0, 0, 2, 0, 1])])).name, '')
  })

  test('may have a name of 255 bytes and no more', () => {
    const labels = (last: number) => [63, 63, 63, last].map(length => 'a'.repeat(length)).join('.')
    assert.equal(read(queryBytes(labels(61), types.A)).name.length, 253)
    assert.equal(fault(queryBytes(labels(62), types.A)), rcodes.formErr)
  })

  test('cut anywhere is malformed', () => {
    const bytes = queryBytes('a.example.com', types.A, {
      additional: [opt({ options: Buffer.from('0003000101', 'hex') })],
    })
    for (let length = 0; length < bytes.length; length++)
      assert.equal(fault(bytes.subarray(0, length)), length < 12 ? 'noise' : rcodes.formErr, String(length))
    assert.equal(fault(Buffer.concat([bytes, Buffer.alloc(1)])), rcodes.formErr)
  })

  test('with a pointer in its name is malformed', () => {
    const loop = Buffer.concat([plain.subarray(0, 12), Buffer.from([0xc0, 12, 0, 1, 0, 1])])
    assert.equal(fault(loop), rcodes.formErr)
    for (const kind of [0x40, 0x80]) assert.equal(fault(patched(plain, 12, kind)), rcodes.formErr)
  })

  test('has one question, and nothing that belongs into replies', () => {
    for (const [at, count] of [
      [5, 0],
      [5, 2],
      [4, 1],
      [7, 1],
      [9, 1],
      [11, 3],
    ] as const)
      assert.equal(fault(patched(plain, at, count)), rcodes.formErr, `${at}`)
  })

  test('that is a reply is noise', () => {
    assert.equal(fault(patched(plain, 2, 0x80)), 'noise')
  })

  test('of another operation is refused before anything else is looked at', () => {
    assert.equal(fault(patched(plain, 2, 0x28)), rcodes.notImp)
    assert.equal(fault(patched(plain, 2, 0x20).subarray(0, 12)), rcodes.notImp)
  })
})

suite('EDNS in a query', () => {
  const withOpt = (...additional: Buffer[]) => queryBytes('example.com', types.A, { additional })
  const cookie = (length: number) =>
    Buffer.concat([Buffer.from([0, COOKIE, 0, length]), Buffer.alloc(length, 7)])

  test('is read', () => {
    const { edns } = read(withOpt(opt({ payload: 4096, options: cookie(8) })))
    assert.equal(edns?.payload, 4096)
    assert.equal(edns?.version, 0)
    assert.equal(edns?.cookie?.length, 8)
  })

  test('is there once, at the root', () => {
    assert.equal(fault(withOpt(opt(), opt())), rcodes.formErr)
    const named = Buffer.concat([wireName('a'), opt().subarray(1)])
    assert.equal(fault(withOpt(named)), rcodes.formErr)
  })

  test('may stand beside another record, whose name may be a pointer', () => {
    const signature = Buffer.concat([Buffer.from([0xc0, 12]), Buffer.from('00fa00ff000000000000', 'hex')])
    assert.equal(read(withOpt(opt({ payload: 999 }), signature)).edns?.payload, 999)
  })

  test('has cookies of the lengths of RFC 7873', () => {
    for (const length of [8, 16, 24, 40])
      assert.equal(read(withOpt(opt({ options: cookie(length) }))).edns?.cookie?.length, length)
    for (const length of [0, 7, 9, 15, 41])
      assert.equal(fault(withOpt(opt({ options: cookie(length) }))), rcodes.formErr, String(length))
  })

  test('with an option that is longer than the record is malformed', () => {
    assert.equal(fault(withOpt(opt({ options: Buffer.from([0, 3, 0, 9, 1]) }))), rcodes.formErr)
    assert.equal(fault(withOpt(opt({ options: Buffer.from([0, 3, 0]) }))), rcodes.formErr)
  })

  test('of another version is not looked into', () => {
    const { edns } = read(withOpt(opt({ version: 3, options: Buffer.from([1, 2, 3]) })))
    assert.equal(edns?.version, 3)
  })
})
