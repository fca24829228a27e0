import { readFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { text } from 'node:stream/consumers'
import { join } from 'node:path'
import type { TestServer } from '../../support/server.ts'
import { assertNoSecretInPage, registerSecret } from '../../support/secrets.ts'

export interface Page {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** Where it came from, after all redirects. */
  readonly url: URL
}

const MAX_REDIRECTS = 10

/** As much of a browser as signing in needs: it follows redirects and keeps the cookies of each host. */
export class Browser {
  readonly #port: number
  readonly #ca: string
  readonly #cookies = new Map<string, Map<string, string>>()

  constructor(server: TestServer) {
    this.#port = server.bound.https?.port ?? 0
    this.#ca = readFileSync(join(server.dataDir, 'ca.pem'), 'utf8')
  }

  /** The address of a page, as public addresses are written here. */
  at = (host: string, path = '/'): string => `https://${host}:${this.#port}${path}`

  async open(address: string): Promise<Page> {
    let url = new URL(address)
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      const page = await this.#get(url)
      assertNoSecretInPage(page.headers, page.body)
      if (page.status !== 302 || page.headers.location === undefined) return page
      url = new URL(page.headers.location, url)
      registerSecret(url.searchParams.get('code') ?? '')
    }
    throw new Error(`too many redirects, at last to ${url.href}`)
  }

  async #get(url: URL): Promise<Page> {
    const kept = this.#cookies.get(url.host) ?? new Map<string, string>()
    this.#cookies.set(url.host, kept)
    const request = url.protocol === 'https:' ? httpsRequest : httpRequest
    const outgoing = request({
      // All names of the gateway are here, whatever this machine's resolver says.
      host: '127.0.0.1',
      port: url.port,
      path: url.pathname + url.search,
      agent: false,
      headers: {
        host: url.host,
        accept: 'text/html',
        'sec-fetch-mode': 'navigate',
        cookie: [...kept].map(([name, value]) => `${name}=${value}`).join('; '),
      },
      ...(url.protocol === 'https:' && { servername: url.hostname, ca: this.#ca }),
    })
    const { promise, resolve, reject } = Promise.withResolvers<Page>()
    outgoing.on('error', reject).on('response', answer => {
      for (const cookie of answer.headers['set-cookie'] ?? []) keep(kept, cookie)
      text(answer).then(
        body => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body, url }),
        reject,
      )
    })
    outgoing.end()
    return promise
  }
}

function keep(kept: Map<string, string>, cookie: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
  if (/;\s*max-age=0(?:;|$)/i.test(cookie)) kept.delete(name)
  else kept.set(name, registerSecret(value))
}
