import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { ConnectionOptions } from 'node:tls'
import type { Log } from '#base/log.ts'
import type { TlsConfig } from '#tls/contexts.ts'
import { ask, log, startHttps, visit, type TestHttps } from '../gateway/listeners/support.ts'
import type { TestCertificate } from './test-certificates.ts'

export const NAME = 'shop.adit.localhost'
export const VERSIONS = ['TLSv1.2', 'TLSv1.3'] as const

export interface MutualTlsServer extends AsyncDisposable {
  readonly https: TestHttps
  /** The TLS configuration for new connections. */
  config: TlsConfig
  /** Why clients were refused, as the log has it. */
  readonly refusals: readonly string[]
  /** How a client connects. */
  by(person?: TestCertificate, more?: ConnectionOptions): ConnectionOptions
  /** What the service gets about a client; undefined when it is refused. */
  meet(person?: TestCertificate, more?: ConnectionOptions): Promise<Record<string, unknown> | undefined>
}

/** An HTTPS listener that requests client certificates. */
export async function startMutualTls(config: TlsConfig): Promise<MutualTlsServer> {
  const refusals: string[] = []
  const listenerLog: Log = Object.create(log, {
    debug: { value: ({ error }: { readonly error: Error }) => refusals.push(error.message) },
  })
  const https = await startHttps({ log: listenerLog, route: () => ({ kind: 'http', config: server.config }) })
  const server: MutualTlsServer = {
    https,
    refusals,
    config,
    by: (person, more) => ({
      servername: NAME,
      ca: https.authority.rootPem,
      ...(person && { cert: person.chain, key: person.keyPem }),
      ...more,
    }),
    async meet(person, more) {
      try {
        return await ask(await visit(https.port, server.by(person, more)))
      } catch {
        // With TLS 1.3 a client learns of a refusal only after its own part of the handshake.
        return undefined
      }
    },
    [Symbol.asyncDispose]: () => https[Symbol.asyncDispose](),
  }
  return server
}

export interface Seen {
  /** All that the program printed, the answer included. */
  readonly output: string
  readonly served: boolean
  readonly reused: boolean
}

/** Connects with `openssl s_client` and sends one request. */
export async function sClient(port: number, ...options: readonly string[]): Promise<Seen> {
  const connection = ['-connect', `127.0.0.1:${port}`, '-servername', NAME, '-ign_eof']
  const child = spawn('openssl', ['s_client', ...connection, ...options], { stdio: 'pipe' })
  child.stdin.on('error', () => undefined)
  child.stdin.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [printed, complained] = await Promise.all([text(child.stdout), text(child.stderr)])
  const output = printed + complained
  return {
    output,
    served: output.includes('HTTP/1.1 200'),
    reused: /^Reused, /m.test(output),
  }
}
