import { createHash, randomBytes, sign } from 'node:crypto'
import { deflateRawSync } from 'node:zlib'
import { canonical } from '#auth/saml/canonical.ts'
import { ENVELOPED, EXCLUSIVE, RSA_SHA256, SIGNATURE } from '#auth/saml/names.ts'
import { readMessage } from '#auth/saml/xml.ts'

/** An XML ID does not begin with a digit. */
export const newId = (): string => `_${randomBytes(20).toString('hex')}`

export interface OutgoingMessage {
  readonly xml: string
  readonly id: string
  /** Its destination. */
  readonly url: string
  readonly kind: 'SAMLRequest' | 'SAMLResponse'
  readonly relayState: string | undefined
  readonly keyPem: string
}

/** A URL with a message: the HTTP-Redirect binding, where the query is signed and not the message. */
export async function redirectUrl({ xml, url, kind, relayState, keyPem }: OutgoingMessage): Promise<string> {
  const parts: [string, string][] = [[kind, deflateRawSync(xml).toString('base64')]]
  if (relayState !== undefined) parts.push(['RelayState', relayState])
  parts.push(['SigAlg', RSA_SHA256])
  const query = parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&')
  const signature = (await signedOnThread(Buffer.from(query), keyPem)).toString('base64')
  const [before = ''] = url.split('#')
  const joint = before.includes('?') ? '&' : '?'
  return `${before}${joint}${query}&Signature=${encodeURIComponent(signature)}`
}

/** Every redirect to the provider is signed: this must not block other work. */
function signedOnThread(bytes: Buffer, keyPem: string): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  sign('sha256', bytes, keyPem, (error, signature) => (error ? reject(error) : resolve(signature)))
  return promise
}

/** A message with a signature after its issuer, as the HTTP-POST binding requires. */
export function signedXml(xml: string, id: string, keyPem: string): string {
  const text = canonical(readMessage(xml))
  const digest = createHash('sha256').update(text).digest('base64')
  const info =
    `<ds:SignedInfo xmlns:ds="${SIGNATURE}">` +
    `<ds:CanonicalizationMethod Algorithm="${EXCLUSIVE}"></ds:CanonicalizationMethod>` +
    `<ds:SignatureMethod Algorithm="${RSA_SHA256}"></ds:SignatureMethod>` +
    `<ds:Reference URI="#${id}"><ds:Transforms>` +
    `<ds:Transform Algorithm="${ENVELOPED}"></ds:Transform>` +
    `<ds:Transform Algorithm="${EXCLUSIVE}"></ds:Transform></ds:Transforms>` +
    '<ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"></ds:DigestMethod>' +
    `<ds:DigestValue>${digest}</ds:DigestValue></ds:Reference></ds:SignedInfo>`
  const value = sign('sha256', Buffer.from(info), keyPem).toString('base64')
  const signature =
    `<ds:Signature xmlns:ds="${SIGNATURE}">${info}` +
    `<ds:SignatureValue>${value}</ds:SignatureValue></ds:Signature>`
  // The function keeps "$" in the signature literal.
  return text.replace('</saml:Issuer>', end => end + signature)
}
