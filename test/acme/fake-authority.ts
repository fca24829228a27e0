// @peculiar/x509 resolves its parts through decorator metadata, so this import must come first.
import 'reflect-metadata'
import { createServer, type Server } from 'node:https'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { webcrypto } from 'node:crypto'
import * as x509 from '@peculiar/x509'
import { flattenedVerify, importJWK, type FlattenedJWSInput, type JWK } from 'jose'
import { LocalAuthority, makeLocalRoot } from '#pki/local-authority.ts'
import { Folder } from '../support/folder.ts'

export interface Answer {
  readonly status?: number
  readonly headers?: Record<string, string>
  readonly body?: unknown
}

/** A message that was signed with the key it names. */
export interface Message {
  readonly path: string
  readonly payload: Record<string, unknown>
  /** The number of the account that signed it. */
  readonly account?: number
  /** The key that signed it where there is no account yet. */
  readonly key?: JWK | undefined
}

type Answers = (message: Message) => Answer | undefined

const DAY = 86_400_000
const usualValidity = { from: -3_600_000, to: 90 * DAY }
const atOnce = { takesMs: 0, askAgainS: 0 }

/**
 * A CA over a real socket for what Debian's cannot do: it speaks RFC 8555 with ARI, validates nothing, and can return any
 * response to any request.
 */
export class FakeAuthority implements AsyncDisposable {
  readonly messages: Message[] = []
  /** Asked before the usual answer is given. */
  answers: Answers = () => undefined
  /** What ARI returns. */
  window: { start: number; end: number } | undefined
  /** Of the next certificate, in milliseconds from now. */
  validity = usualValidity
  /** How long issuing takes, and the polling interval that the CA requests. */
  signing = atOnce
  readonly directory: string
  readonly rootFile: string
  readonly #server: Server
  readonly #folder: Folder
  readonly #keys: JWK[] = []
  readonly #signer: { readonly keys: webcrypto.CryptoKeyPair; readonly name: string }
  readonly #orders: { names: string[]; certificate?: string; readyAt?: number }[] = []
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
      this.#serve(request, response).catch((error: unknown) => {
        const problem = { type: 'urn:ietf:params:acme:error:malformed', detail: String(error) }
        response.writeHead(400).end(JSON.stringify(problem))
      })
    })
  }

  /** Forgets its instructions and the requests it got; its accounts and orders stay. */
  reset(): void {
    this.messages.length = 0
    this.answers = () => undefined
    this.window = undefined
    this.validity = usualValidity
    this.signing = atOnce
  }

  static async start(): Promise<FakeAuthority> {
    const folder = new Folder()
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

  /** The paths of signed requests. */
  get paths(): string[] {
    return this.messages.map(({ path }) => path)
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    const text = (await request.toArray()).join('')
    const message = request.method === 'POST' ? await this.#verified(path, text) : { path, payload: {} }
    this.messages.push(message)
    const { status = 200, headers = {}, body } = this.answers(message) ?? (await this.#usual(message))
    response.writeHead(status, { 'replay-nonce': `nonce${++this.#nonces}`, ...headers })
    response.end(typeof body === 'string' || body === undefined ? body : JSON.stringify(body))
  }

  /** Another library than ours reads what we sign. */
  async #verified(path: string, text: string): Promise<Message> {
    const jws = JSON.parse(text) as FlattenedJWSInput
    const numberIn = (kid = '') => Number(/\d+$/.exec(kid)?.[0] ?? -1)
    const { payload, protectedHeader } = await flattenedVerify(jws, async head =>
      importJWK(head.jwk ?? this.#keys[numberIn(head.kid)] ?? {}, 'ES256'),
    )
    const { url, kid, jwk: key } = protectedHeader as { url?: string; kid?: string; jwk?: JWK }
    if (url !== this.#at(path)) throw new Error(`signed for ${url}`)
    if ((kid === undefined) !== (path === '/new-account')) throw new Error(`signed by ${kid}`)
    const read = new TextDecoder().decode(payload)
    return {
      path,
      payload: read === '' ? {} : (JSON.parse(read) as Record<string, unknown>),
      account: numberIn(kid),
      key,
    }
  }

  #at(path: string): string {
    return new URL(path, this.directory).href
  }

  async #usual(message: Message): Promise<Answer> {
    const { path, payload } = message
    const [, kind, index] = path.split('/')
    switch (kind) {
      case 'directory':
        return { body: this.#directory() }
      case 'new-account':
        return this.#account(message)
      case 'account':
        return { body: { status: 'valid' } }
      case 'key-change':
        return this.#change(message)
      case 'new-order': {
        const names = (payload['identifiers'] as { value: string }[]).map(({ value }) => value)
        const number = this.#orders.push({ names }) - 1
        return { status: 201, headers: { location: this.#at(`/order/${number}`) }, body: this.#order(number) }
      }
      case 'finalize':
        await this.#sign(Number(index), String(payload['csr']))
        return this.#orderAnswer(Number(index))
      case 'order':
        return this.#orderAnswer(Number(index))
      case 'certificate':
        return { body: this.#orders[Number(index)]?.certificate ?? '' }
      case 'renewal':
        return this.#renewal()
      default:
        return { status: kind === 'nonce' ? 200 : 404 }
    }
  }

  /** Finds an account by its key, and makes it unless it is only to be found. */
  #account({ payload, key }: Message): Answer {
    const found = this.#keys.findIndex(known => known.x === key?.x)
    if (found < 0 && payload['onlyReturnExisting'] === true)
      return { status: 400, body: { type: 'urn:ietf:params:acme:error:accountDoesNotExist', detail: 'who?' } }
    const number = found < 0 && key !== undefined ? this.#keys.push(key) - 1 : found
    const headers = { location: this.#at(`/account/${number}`) }
    return { status: found < 0 ? 201 : 200, headers, body: { status: 'valid' } }
  }

  /** RFC 8555 §7.3.5: the message within is signed by the new key and names the account and its old one. */
  async #change({ path, payload, account }: Message): Promise<Answer> {
    const { payload: inner, protectedHeader } = await flattenedVerify(
      payload as unknown as FlattenedJWSInput,
      async head => importJWK(head.jwk ?? {}, 'ES256'),
    )
    const { jwk, nonce, url } = protectedHeader as { jwk?: JWK; nonce?: string; url?: string }
    const change = JSON.parse(new TextDecoder().decode(inner)) as { account: string; oldKey: JWK }
    const isSame = change.account === this.#at(`/account/${account}`) && url === this.#at(path)
    if (!isSame || nonce !== undefined || change.oldKey.x !== this.#keys[account ?? -1]?.x)
      throw new Error('the message within is not the one for this change')
    this.#keys[account ?? -1] = jwk ?? {}
    return {}
  }

  #directory(): Record<string, string> {
    return {
      newNonce: this.#at('/nonce'),
      newAccount: this.#at('/new-account'),
      newOrder: this.#at('/new-order'),
      keyChange: this.#at('/key-change'),
      renewalInfo: this.#at('/renewal'),
    }
  }

  #renewal(): Answer {
    if (this.window === undefined) return { status: 404 }
    const [start, end] = [this.window.start, this.window.end].map(time => new Date(time).toISOString())
    return { headers: { 'retry-after': '21600' }, body: { suggestedWindow: { start, end } } }
  }

  #orderAnswer(number: number): Answer {
    const { askAgainS } = this.signing
    return { headers: { 'retry-after': String(askAgainS) }, body: this.#order(number) }
  }

  #order(number: number): Record<string, unknown> {
    const { names = [], certificate: signed, readyAt = 0 } = this.#orders[number] ?? {}
    const certificate = readyAt > Date.now() ? undefined : signed
    return {
      status: certificate !== undefined ? 'valid' : signed !== undefined ? 'processing' : 'ready',
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
    if (order === undefined) return
    order.certificate = `${certificate.toString('pem')}\n`
    order.readyAt = Date.now() + this.signing.takesMs
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    this.#server.close()
    this.#folder[Symbol.dispose]()
  }
}
