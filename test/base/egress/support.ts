import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { parseRange, type Range } from '#base/addresses.ts'
import { EgressError, type EgressFault } from '#base/egress.ts'
import { issue } from '../../support/openssl.ts'
import { Folder } from '../../support/folder.ts'
import { listening, type Listening } from '../../support/net.ts'

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

/** A server of HTTP on this machine. */
export const web = (answer: RequestListener): Promise<Listening> => listening(createServer(answer))

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

export const secureWeb = (given: Identity, answer: RequestListener): Promise<Listening> =>
  listening(createSecureServer(given, answer))
