import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request as httpRequest, type Agent, type IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect, type LookupFunction } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { connect as tlsConnect, type TLSSocket } from 'node:tls'
import { assertNoSecretInPage } from '../../../support/secrets.ts'

/** Every name leads to this machine. */
export const lookup: LookupFunction = (_name, options, found) => {
  if (options.all === true) found(null, [{ address: '127.0.0.1', family: 4 }])
  else found(null, '127.0.0.1', 4)
}

export interface VisitOptions {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: Buffer | string
  readonly agent?: Agent
  /** The CAs that the client trusts. */
  readonly ca?: string
  /** The certificate of the client. */
  readonly cert?: string
  readonly key?: string
}

export interface Seen {
  readonly status: number | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  readonly text: string
}

/** The response that a client gets; the server certificate is verified. */
export async function visit(url: string, options: VisitOptions = {}): Promise<Seen> {
  const { body, ...rest } = options
  const make = url.startsWith('https:') ? httpsRequest : httpRequest
  const sent = make(url, { lookup, agent: false, ...rest })
  sent.end(body)
  const [answer] = await once(sent, 'response')
  const got = await buffer(answer)
  assertNoSecretInPage(answer.headers, got.toString())
  return { status: answer.statusCode, headers: answer.headers, body: got, text: got.toString() }
}

/** The root of the local authority. */
export const rootOf = (dataDir: string): string => readFileSync(join(dataDir, 'ca.pem'), 'utf8')

const portOf = (url: string): number => Number(/:(\d+)$/.exec(url)?.[1])

/** What a TCP endpoint answers to the text given. */
export async function tcpExchange(url: string, text: string): Promise<string> {
  const socket = connect(portOf(url), '127.0.0.1')
  socket.end(text)
  return (await buffer(socket)).toString()
}

/** A connection to a TLS endpoint whose certificate is verified, with or without a client certificate. */
export async function connectTls(
  url: string,
  ca: string,
  identity: { readonly cert?: string; readonly key?: string } = {},
): Promise<TLSSocket> {
  const servername = new URL(url.replace(/^tls:/, 'https:')).hostname
  const socket = tlsConnect({ port: portOf(url), host: '127.0.0.1', servername, ca, ...identity })
  await once(socket, 'secureConnect')
  return socket
}
