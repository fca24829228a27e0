import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { putTunnel, readChange } from '#cluster/nodes/online-change.ts'
import { readTunnel, tunnelText } from '#cluster/nodes/online-record.ts'
import { defaultOptions } from '#tunnel/messages.ts'
import { tunnelRecord } from '../support/records.ts'

const plain = tunnelRecord()
const chosen = tunnelRecord({}, { Capture: true, BasicAuth: { realm: 'here' }, TrafficPolicy: '{}' })

/** As far as JSON can say. */
const asRead = (record: object): unknown => JSON.parse(JSON.stringify(record))

suite('a tunnel in the database', () => {
  test('is read as it was written, whatever options it has', () => {
    for (const record of [plain, chosen]) assert.deepEqual(readTunnel(tunnelText(record)), asRead(record))
  })

  test('has only the options that are not the defaults', () => {
    const { options } = JSON.parse(tunnelText(chosen)) as { options: unknown }
    assert.deepEqual(options, { Capture: true, BasicAuth: { realm: 'here' }, TrafficPolicy: '{}' })
  })

  test('without options shares the defaults, which cannot be changed', () => {
    assert.equal(readTunnel(tunnelText(plain)).options, defaultOptions)
    assert.ok(Object.isFrozen(defaultOptions))
  })

  test('of an earlier version, with all options, is read in the same way', () => {
    for (const record of [plain, chosen]) assert.deepEqual(readTunnel(JSON.stringify(record)), asRead(record))
  })

  test('is the same in the change that others follow', () => {
    const from = { node: 'nd_1', epoch: 2 }
    const { text } = putTunnel(chosen, from)
    assert.deepEqual(readChange(text), { is: 'tunnel', record: asRead(chosen), ...from })
  })
})
