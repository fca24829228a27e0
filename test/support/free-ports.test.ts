import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { freePorts } from './free-ports.ts'

test('the ports of a process are of a part that no other process can have', async () => {
  const ports = await freePorts(20)
  assert.equal(new Set(ports).size, 20)
  const [first, ...others] = new Set(ports.map(port => port - (port % 500)))
  assert.deepEqual(others, [])
  assert.ok(first !== undefined && !ports.includes(first))
  await assert.rejects(once(createServer().listen(first, '127.0.0.1'), 'listening'), { code: 'EADDRINUSE' })
})
