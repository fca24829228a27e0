// @peculiar/x509 resolves its parts through decorator metadata, so this import must come first.
import 'reflect-metadata'
import { createServer, type Server } from 'node:https'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'
import { flattenedVerify, importJWK, type FlattenedJWSInput, type JWK } from 'jose'
import { Folder } from '../support/openssh.ts'
import { LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'

export interface Answer {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

/** A message that was signed with the key it names. */
export interface Message {
  readonly path: string
  readonly payload: Record<string, unknown>
}

type Answers = (message: Message) => Answer | undefined

const DAY = 86_400_000

/**
 * An authority over a real socket for what Debian's cannot do: it speaks RFC 8555 with ARI, proves nothing, and can be told
 * to answer anything to anything.
 */
export class FakeAuthority implements AsyncDisposable {
  readonly messages: Message[] = []
  /** Asked before the usual answer is given. */
  answers: Answers = () => undefined
  /** What ARI tells. */
  window: { start: number; end: number } | undefined
  /** Of the next certificate, in milliseconds from now. */
  validity = { from: -3_600_000, to: 90 * DAY }
  readonly directory: string
  readonly rootFile: string
  readonly #server: Server
  readonly #folder: Folder
  readonly #keys: JWK[] = []
  readonly #signer: { readonly keys: webcrypto.CryptoKeyPair; readonly name: string }
  readonly #orders: { names: string[]; certificate?: string }[] = []
  #nonces = 0

  private constructor(
    server: Server,
    port: number,
    folder: Folder,
    signer: { keys: webcrypto.CryptoKeyPair; name: string },
  ) {
    this.#server = server
    this.#folder = folder
    this.#signer = signer
    this.directory = `https://127.0.0.1:${port}/directory`
    this.rootFile = folder.file('root.pem')
    server.on('request', (request, response) => {
      this.#serve(request, response).catch((error: unknown) => response.writeHead(500).end(String(error)))
    })
  }

  static async start(): Promise<FakeAuthority> {
    const folder = await Folder.make()
    const root = await makeLocalRoot('Root of the fake')
    const { certificatePem, privateKeyPem } = await (await LocalAuthority.open(root)).issue(['127.0.0.1'])
    await folder.write('root.pem', root.certificatePem)
    const server = createServer({ cert: certificatePem, key: privateKeyPem.reveal() }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const keys = await webcrypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, true, [
      'sign',
      'verify',
    ])
    return new FakeAuthority(server, port, folder, { keys, name: 'CN=Fake authority' })
  }

  /** Paths that were asked for by signed messages. */
  get paths(): string[] {
    return this.messages.map(({ path }) => path)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    const text = (await request.toArray()).join('')
    const message = { path, payload: request.method === 'POST' ? await this.#verified(path, text) : {} }
    this.messages.push(message)
    const { status = 200, headers = {}, body } = this.answers(message) ?? (await this.#usual(message))
    response.writeHead(status, { 'replay-nonce': `nonce${++this.#nonces}`, ...headers })
    response.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body))
  }

  /** Another library than ours reads what we sign. */
  async #verified(path: string, text: string): Promise<Record<string, unknown>> {
    const jws = JSON.parse(text) as FlattenedJWSInput
    const { payload, protectedHeader } = await flattenedVerify(jws, async head => {
      if (head.jwk !== undefined) this.#keys.push(head.jwk)
      const number = Number(/\d+$/.exec(head.kid ?? '')?.[0])
      return importJWK(head.jwk ?? this.#keys[number] ?? {}, 'ES256')
    })
    const { url, kid } = protectedHeader as { url?: string; kid?: string }
    if (url !== this.#at(path)) throw new Error(`signed for ${url}`)
    if ((kid === undefined) !== (path === '/new-account')) throw new Error(`signed by ${kid}`)
    return payload.length === 0
      ? {}
      : (JSON.parse(new TextDecoder().decode(payload)) as Record<string, unknown>)
  }

  #at(path: string): string {
    return new URL(path, this.directory).href
  }

  async #usual({ path, payload }: Message): Promise<Answer> {
    const [, kind, index] = path.split('/')
    switch (kind) {
      case 'directory':
        return { body: this.#directory() }
      case 'new-account':
        return {
          status: 201,
          headers: { location: this.#at(`/account/${this.#keys.length - 1}`) },
          body: { status: 'valid' },
        }
      case 'new-order': {
        const names = (payload['identifiers'] as { value: string }[]).map(({ value }) => value)
        const number = this.#orders.push({ names }) - 1
        return { status: 201, headers: { location: this.#at(`/order/${number}`) }, body: this.#order(number) }
      }
      case 'finalize':
        await this.#sign(Number(index), String(payload['csr']))
        return { body: this.#order(Number(index)) }
      case 'order':
        return { body: this.#order(Number(index)) }
      case 'certificate':
        return { body: this.#orders[Number(index)]?.certificate ?? '' }
      case 'renewal':
        return this.#renewal()
      default:
        return { status: kind === 'nonce' ? 200 : 404 }
    }
  }

  #directory(): Record<string, string> {
    return {
      newNonce: this.#at('/nonce'),
      newAccount: this.#at('/new-account'),
      newOrder: this.#at('/new-order'),
      renewalInfo: this.#at('/renewal'),
    }
  }

  #renewal(): Answer {
    if (this.window === undefined) return { status: 404 }
    const [start, end] = [this.window.start, this.window.end].map(time => new Date(time).toISOString())
    return { headers: { 'retry-after': '21600' }, body: { suggestedWindow: { start, end } } }
  }

  #order(number: number): Record<string, unknown> {
    const { names = [], certificate } = this.#orders[number] ?? {}
    return {
      status: certificate === undefined ? 'ready' : 'valid',
      identifiers: names.map(value => ({ type: 'dns', value })),
      authorizations: [this.#at(`/authorization/${number}`)],
      finalize: this.#at(`/finalize/${number}`),
      ...(certificate !== undefined && { certificate: this.#at(`/certificate/${number}`) }),
    }
  }

  async #sign(number: number, csr: string): Promise<void> {
    const request = new x509.Pkcs10CertificateRequest(Buffer.from(csr, 'base64url'))
    if (!(await request.verify())) throw new Error('the request is not signed with its key')
    const { keys, name } = this.#signer
    const certificate = await x509.X509CertificateGenerator.create({
      serialNumber: `0${number + 1}`,
      subject: '',
      issuer: name,
      notBefore: new Date(Date.now() + this.validity.from),
      notAfter: new Date(Date.now() + this.validity.to),
      publicKey: request.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
      extensions: [
        new x509.SubjectAlternativeNameExtension(
          (this.#orders[number]?.names ?? []).map(value => ({ type: 'dns', value })),
        ),
        await x509.AuthorityKeyIdentifierExtension.create(keys.publicKey),
      ],
    })
    const order = this.#orders[number]
    if (order !== undefined) order.certificate = `${certificate.toString('pem')}\n`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    await this.#folder[Symbol.asyncDispose]()
  }
}
