import { ASSERTION, POST_BINDING, PROTOCOL } from '#auth/saml/names.ts'
import type { SamlServiceProvider } from '#auth/saml/service-provider.ts'
import { escapeAttribute, escapeText } from '#auth/saml/xml.ts'

const instant = (now: number): string => new Date(now).toISOString()

const attributes = (pairs: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(pairs)
    .map(([name, value]) => (value === undefined ? '' : ` ${name}="${escapeAttribute(value)}"`))
    .join('')

const issuer = (entityId: string): string =>
  `<saml:Issuer xmlns:saml="${ASSERTION}">${escapeText(entityId)}</saml:Issuer>`

interface AuthnRequestOptions {
  readonly id: string
  /** The user must enter credentials even in a session at the provider. */
  readonly force: boolean
  readonly now: number
}

/** An AuthnRequest. */
export function authnRequest(service: SamlServiceProvider, { id, force, now }: AuthnRequestOptions): string {
  const given = attributes({
    ID: id,
    Version: '2.0',
    IssueInstant: instant(now),
    Destination: service.provider.signIn.url,
    AssertionConsumerServiceURL: service.acsUrl,
    ProtocolBinding: POST_BINDING,
    ...(force && { ForceAuthn: 'true' }),
  })
  const policy = attributes({ Format: service.settings.nameid_format, AllowCreate: 'true' })
  return (
    `<samlp:AuthnRequest xmlns:samlp="${PROTOCOL}"${given}>${issuer(service.entityId)}` +
    `<samlp:NameIDPolicy${policy}/></samlp:AuthnRequest>`
  )
}

interface LogoutAnswer {
  readonly id: string
  readonly inResponseTo: string
  readonly destination: string
  readonly status: string
  readonly now: number
}

/** The result of the provider's logout request. */
export function logoutResponse(service: SamlServiceProvider, answer: LogoutAnswer): string {
  const given = attributes({
    ID: answer.id,
    Version: '2.0',
    IssueInstant: instant(answer.now),
    Destination: answer.destination,
    InResponseTo: answer.inResponseTo,
  })
  return (
    `<samlp:LogoutResponse xmlns:samlp="${PROTOCOL}"${given}>${issuer(service.entityId)}` +
    `<samlp:Status><samlp:StatusCode${attributes({ Value: answer.status })}/></samlp:Status></samlp:LogoutResponse>`
  )
}
