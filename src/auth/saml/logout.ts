import { applicationSession } from '#contract/kinds/application.ts'
import { applicationUser } from '#contract/kinds/application.ts'
import { fail } from '#base/errors.ts'
import type { Exchange, Reply } from '#http/exchange.ts'
import { redirectReply } from '#http/pages.ts'
import { textOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'
import type { RowOf, SourceRow } from '#registry/records/source.ts'
import { checkTimes, SKEW_MS, timeOf } from '#auth/saml/assertion.ts'
import { readForm, single } from '#auth/saml/form.ts'
import { logoutResponse } from '#auth/saml/messages.ts'
import { ASSERTION, PROTOCOL, SUCCESS } from '#auth/saml/names.ts'
import type { SamlServiceProvider } from '#auth/saml/service-provider.ts'
import { formReply } from '#auth/saml/post-form.ts'
import { messageInQuery } from '#auth/saml/redirect-signature.ts'
import { checkedXml, checkEnvelope, decodedText, rejectDisguises } from '#auth/saml/response.ts'
import { newId, redirectUrl } from '#auth/saml/sign.ts'
import { signatureIn, SignatureFault, verified } from '#auth/saml/signature.ts'
import { servesAt } from '#auth/saml/target.ts'
import {
  attribute,
  base64,
  type Element,
  isNamed,
  one,
  readMessage,
  textIn,
  XmlFault,
} from '#auth/saml/xml.ts'
import { parametersOf } from '#auth/sign-in/paths.ts'
import { signedOutReply } from '#auth/sign-in/signed-out.ts'

/** An older logout request may be a replay. */
const MAX_AGE_MS = 300_000

/** A logout request of the provider. */
interface LogoutRequest {
  readonly id: string
  readonly nameId: string
  readonly relayState: string | undefined
}

/** Parses and verifies a logout request of either binding; throws a Problem when it is not the provider's. */
export async function readLogout(
  exchange: Exchange,
  service: SamlServiceProvider,
  now: number,
): Promise<LogoutRequest> {
  const { head } = exchange
  const form = head.method === 'POST' ? await readForm(exchange) : undefined
  const relayState = single(form ?? parametersOf(head.target), 'RelayState')
  return checkedXml(() => {
    const request = form
      ? signedRequest(decodedText(base64(single(form, 'SAMLRequest') ?? '')), service)
      : readMessage(messageInQuery(head.target, service.provider.keys))
    return { ...checkedRequest(request, service, now), relayState }
  })
}

function signedRequest(xml: string, service: SamlServiceProvider): Element {
  const request = readMessage(xml)
  rejectDisguises(request)
  const signature = signatureIn(request)
  if (signature === undefined) throw new SignatureFault('it is not signed')
  return verified(request, signature, service.provider.keys)
}

function checkedRequest(
  request: Element,
  service: SamlServiceProvider,
  now: number,
): Omit<LogoutRequest, 'relayState'> {
  if (!isNamed(request, PROTOCOL, 'LogoutRequest')) throw new XmlFault('it is not a LogoutRequest')
  rejectDisguises(request)
  one(request, ASSERTION, 'Issuer')
  checkEnvelope(request, service, service.sloUrl)
  checkTimes(request, now)
  if (Math.abs(now - timeOf(request, 'IssueInstant')) > MAX_AGE_MS + SKEW_MS)
    fail('saml_expired', { reason: 'it is too old or from the future' })
  return { id: attribute(request, 'ID') ?? '', nameId: textIn(one(request, ASSERTION, 'NameID')) }
}

/**
 * The sessions of a user in a realm, and not at another route of the same edge. Which one belongs to which provider
 * session is not stored.
 */
export function sessionsOf(
  nameId: string,
  row: SourceRow,
  service: SamlServiceProvider,
  records: Records,
): string[] {
  const isUser = (user: RowOf<typeof applicationUser>): boolean =>
    textOf(user, 'provider_user_id') === nameId &&
    user.body.identity_provider?.url === service.provider.entityId
  const users = new Set([...records.all(applicationUser)].filter(isUser).map(({ id }) => id))
  const isHere = (session: RowOf<typeof applicationSession>): boolean => {
    if (row.kind === 'https_edge_route') return textOf(session, 'route') === row.id
    const url = URL.parse(textOf(session, 'public_url'))
    return url !== null && servesAt(row, url.protocol === 'http:' ? 'http' : 'https', url.hostname, records)
  }
  return [...records.all(applicationSession)]
    .filter(session => users.has(textOf(session, 'application_user')) && isHere(session))
    .map(({ id }) => id)
}

/** Confirms the logout to the provider, through the browser. */
export async function loggedOutReply(
  service: SamlServiceProvider,
  request: LogoutRequest,
  exchange: Exchange,
  now: number,
): Promise<Reply> {
  const endpoint = service.provider.signOut
  if (endpoint === undefined) return signedOutReply(exchange.head)
  const id = newId()
  const answer = { id, inResponseTo: request.id, destination: endpoint.url, status: SUCCESS, now }
  const outgoing = {
    xml: logoutResponse(service, answer),
    id,
    url: endpoint.url,
    kind: 'SAMLResponse' as const,
    relayState: request.relayState,
    keyPem: service.settings.request_signing_key_pem,
  }
  return endpoint.binding === 'post' ? formReply(outgoing) : redirectReply(await redirectUrl(outgoing), 303)
}
