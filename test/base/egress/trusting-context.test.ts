import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  connect,
  createServer,
  getCACertificates,
  setDefaultCACertificates,
  type SecureContext,
} from 'node:tls'
import { suite, test } from 'node:test'
import { contextTrusting, contextTrustingAlso } from '#base/trusting-context.ts'
import { listening } from '../../support/net.ts'
import { identity, type Identity } from './support.ts'

/** Whether a client with a context accepts a server's certificate. */
async function trusts(secureContext: SecureContext | undefined, server: Identity): Promise<boolean> {
  await using service = await listening(createServer(server, socket => socket.end()))
  const socket = connect({ host: '127.0.0.1', port: service.port, secureContext, rejectUnauthorized: false })
  await once(socket, 'secureConnect')
  const { authorized } = socket
  socket.destroy()
  return authorized
}

suite('a context', () => {
  test('that trusts CAs trusts no other', async () => {
    const [named, other] = [await identity('IP:127.0.0.1'), await identity('IP:127.0.0.1')]
    assert.equal(await trusts(contextTrusting([named.cert]), named), true)
    assert.equal(await trusts(contextTrusting([named.cert]), other), false)
    assert.equal(await trusts(contextTrusting([]), named), false)
  })

  test('that trusts CAs also trusts those of Node, which stay the same', async context => {
    const [named, own] = [await identity('IP:127.0.0.1'), await identity('IP:127.0.0.1')]
    const usual = getCACertificates('default')
    context.after(() => setDefaultCACertificates(usual))
    setDefaultCACertificates([own.cert])
    const made = contextTrustingAlso([named.cert])
    assert.deepEqual([await trusts(made, named), await trusts(made, own)], [true, true])
    for (const another of [undefined, contextTrustingAlso([])])
      assert.deepEqual([await trusts(another, named), await trusts(another, own)], [false, true])
  })
})
