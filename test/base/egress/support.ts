import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { parseRange, type Range } from '#base/addresses.ts'
import { EgressError, type EgressFault } from '#base/egress.ts'
import { issue } from '../../support/openssl.ts'
import { Folder } from '../../support/folder.ts'

export const rangesOf = (...texts: readonly string[]): Range[] =>
  texts.flatMap(text => parseRange(text) ?? [])

/** What lets tests call their own servers. */
export const loopback = rangesOf('127.0.0.0/8', '::1/128')

/** The error of a call that must fail in this way; its sentence is complete. */
export async function fails(call: Promise<unknown>, code: EgressFault): Promise<EgressError> {
  const error = await call.then(
    () => assert.fail('the call succeeded'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof EgressError, String(error))
  assert.equal(error.code, code, error.message)
  assert.match(error.message, /^.+\.$/)
  return error
}

export interface Local extends AsyncDisposable {
  readonly port: number
  /** How many connections came. */
  readonly connections: () => number
}

export async function listening(server: Server, host = '127.0.0.1'): Promise<Local> {
  const sockets = new Set<{ destroy(): void }>()
  let connections = 0
  server.on('connection', socket => {
    connections++
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  await once(server.listen(0, host), 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** A server of HTTP on this machine. */
export const web = (answer: RequestListener): Promise<Local> => listening(createServer(answer))

export interface Identity {
  readonly cert: string
  readonly key: string
}

/** A certificate that is its own root. */
export async function identity(...names: readonly string[]): Promise<Identity> {
  using folder = new Folder()
  const extensions = ['basicConstraints=critical,CA:TRUE', `subjectAltName=${names.join(',')}`]
  const { certificate, key } = await issue(folder, { name: 'service', extensions })
  return { cert: certificate, key }
}

export const secureWeb = (given: Identity, answer: RequestListener): Promise<Local> =>
  listening(createSecureServer(given, answer))
