import { type KeyObject, X509Certificate } from 'node:crypto'
import type { SchemeParts } from '#webhooks/webhook.ts'
import { isLargeRsa } from '#pki/rsa-size.ts'

const ADDRESS =
  /^https:\/\/sns\.[a-z0-9-]{3,32}\.amazonaws\.com(?:\.cn)?\/SimpleNotificationService-[a-z0-9]{1,64}\.pem$/i
const MAX_KEPT = 8
const MAX_FETCHES = 4
const MAX_BYTES = 16 * 1024
const TIMEOUT_MS = 5000

/**
 * The certificates that messages name. They are trusted only because of their URL, fetched over TLS: intermediate
 * certificates are not sent, so the chain cannot be checked here.
 */
export class SnsCertificates {
  readonly #egress: SchemeParts['egress']
  readonly #kept = new Map<string, X509Certificate>()
  readonly #fetches = new Map<string, Promise<X509Certificate | undefined>>()

  constructor(egress: SchemeParts['egress']) {
    this.#egress = egress
  }

  /** The key of the certificate at a URL; a string is the reason why there is none. */
  async keyAt(address: string, now: number): Promise<KeyObject | string> {
    if (!ADDRESS.test(address)) return 'its certificate is not one of Amazon SNS'
    const certificate = this.#kept.get(address) ?? (await this.#fetched(address))
    if (certificate === undefined) return 'its certificate could not be fetched'
    if (now < certificate.validFromDate.getTime() || now > certificate.validToDate.getTime())
      return 'its certificate is not valid now'
    const { publicKey } = certificate
    if (publicKey.asymmetricKeyType !== 'rsa') return 'its certificate has no RSA key'
    return isLargeRsa(publicKey) ? 'its certificate has a key that is too large' : publicKey
  }

  #fetched(address: string): Promise<X509Certificate | undefined> {
    const running = this.#fetches.get(address)
    if (running !== undefined) return running
    // Any client can name a URL, so few requests run at a time.
    if (this.#fetches.size >= MAX_FETCHES) return Promise.resolve(undefined)
    const fetching = this.#fetch(address).finally(() => this.#fetches.delete(address))
    this.#fetches.set(address, fetching)
    return fetching
  }

  async #fetch(address: string): Promise<X509Certificate | undefined> {
    try {
      const { status, body } = await this.#egress.request(address, {
        // Only the host whose name was checked may respond.
        redirects: 0,
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
      })
      if (status !== 200) return undefined
      const certificate = new X509Certificate(body)
      this.#keep(address, certificate)
      return certificate
    } catch {
      // Unreachable, or not a certificate: either way the message cannot be verified.
      return undefined
    }
  }

  #keep(address: string, certificate: X509Certificate): void {
    const [oldest] = this.#kept.keys()
    if (this.#kept.size >= MAX_KEPT && oldest !== undefined) this.#kept.delete(oldest)
    this.#kept.set(address, certificate)
  }
}
