import { fail } from '#base/errors.ts'
import { attributesOf, groupsIn, identityOf } from '#auth/saml/attributes.ts'
import { ASSERTION, BEARER, UNSPECIFIED } from '#auth/saml/names.ts'
import type { SamlServiceProvider } from '#auth/saml/service-provider.ts'
import { allNamed, attribute, type Element, elementsOf, one, textIn, XmlFault } from '#auth/saml/xml.ts'
import type { UserIdentity } from '#http/identity.ts'

/** The tolerated clock difference to the provider. */
export const SKEW_MS = 60_000

/** A verified assertion. */
export interface Accepted {
  /** Of the assertion: each is accepted once. */
  readonly id: string
  /** From then on it would be rejected anyway. */
  readonly until: number
  /** The request that it responds to; undefined when the provider started the sign-in. */
  readonly request: string | undefined
  readonly identity: UserIdentity
  /** When the user entered credentials. */
  readonly authenticatedAt: number
  /** When the provider's session ends, if known. */
  readonly sessionUntil: number | undefined
}

const MAX_NAME = 1024
const understood = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']

/** Checks a signed assertion and extracts the user. */
export function readAssertion(assertion: Element, service: SamlServiceProvider, now: number): Accepted {
  const id = attribute(assertion, 'ID') ?? ''
  if (id === '' || id.length > MAX_NAME || attribute(assertion, 'Version') !== '2.0')
    throw new XmlFault('its assertion is not one of SAML 2.0')
  if (textIn(one(assertion, ASSERTION, 'Issuer')) !== service.provider.entityId)
    notForUs('its Issuer is not the identity provider in the metadata')
  if (timeOf(assertion, 'IssueInstant') > now + SKEW_MS) expired('it is from the future')
  checkConditions(one(assertion, ASSERTION, 'Conditions'), service, now)
  const subject = one(assertion, ASSERTION, 'Subject')
  const confirmed = confirmation(subject, service, now)
  const statement = authentication(assertion, now)
  const nameId = checkedNameId(one(subject, ASSERTION, 'NameID'), service)
  const attributes = attributesOf(assertion)
  const wanted = service.settings.authorized_groups
  if (wanted.length > 0 && !groupsIn(attributes).some(group => wanted.includes(group))) fail('saml_group')
  return { id, ...confirmed, ...statement, identity: identityOf(nameId, attributes) }
}

const notForUs = (reason: string): never => fail('saml_not_for_us', { reason })
const expired = (reason: string): never => fail('saml_expired', { reason })

function checkConditions(conditions: Element, { entityId }: SamlServiceProvider, now: number): void {
  checkTimes(conditions, now)
  // SAML core §2.5.1.1: an assertion with an unknown condition must not be relied upon.
  const unknown = elementsOf(conditions).find(
    ({ localName, namespaceURI }) => namespaceURI !== ASSERTION || !understood.includes(localName ?? ''),
  )
  if (unknown !== undefined) notForUs('it has an unknown condition')
  const restrictions = allNamed(conditions, ASSERTION, 'AudienceRestriction')
  const names = (restriction: Element): boolean =>
    allNamed(restriction, ASSERTION, 'Audience').some(audience => textIn(audience) === entityId)
  if (restrictions.length === 0 || !restrictions.every(names)) notForUs('its Audience is another service')
}

interface Confirmed {
  readonly until: number
  readonly request: string | undefined
}

/** Bearer confirmation: the assertion may be used here, now, and only for the request it names. */
function confirmation(subject: Element, { acsUrl }: SamlServiceProvider, now: number): Confirmed {
  const bearers = allNamed(subject, ASSERTION, 'SubjectConfirmation')
    .filter(each => attribute(each, 'Method') === BEARER)
    .flatMap(each => allNamed(each, ASSERTION, 'SubjectConfirmationData'))
  const data = bearers.find(each => attribute(each, 'Recipient') === acsUrl)
  if (data === undefined)
    return notForUs(
      bearers.length === 0 ? 'it has no bearer confirmation' : 'its Recipient is another address',
    )
  checkTimes(data, now)
  const until = timeOf(data, 'NotOnOrAfter') + SKEW_MS
  return { until, request: answered(data) }
}

/** The request that an element responds to. Some providers write an empty one when there is none. */
export const answered = (element: Element): string | undefined =>
  attribute(element, 'InResponseTo') || undefined

interface Authentication {
  readonly authenticatedAt: number
  readonly sessionUntil: number | undefined
}

function authentication(assertion: Element, now: number): Authentication {
  const [statement, second] = allNamed(assertion, ASSERTION, 'AuthnStatement')
  if (statement === undefined || second !== undefined) return fail('saml_statements')
  const authenticatedAt = timeOf(statement, 'AuthnInstant')
  if (attribute(statement, 'SessionNotOnOrAfter') === undefined)
    return { authenticatedAt, sessionUntil: undefined }
  const sessionUntil = timeOf(statement, 'SessionNotOnOrAfter')
  if (now >= sessionUntil + SKEW_MS) expired('the session at the identity provider has ended')
  return { authenticatedAt, sessionUntil }
}

interface NameId {
  readonly value: string
  readonly format: string
}

/** A provider that does not name the format may use the requested one. */
function checkedNameId(element: Element, { settings }: SamlServiceProvider): NameId {
  const value = textIn(element)
  if (value === '' || value.length > MAX_NAME || /\p{Cc}/u.test(value))
    throw new XmlFault('its NameID cannot be used')
  const format = attribute(element, 'Format') ?? UNSPECIFIED
  const wanted = settings.nameid_format
  if (wanted !== UNSPECIFIED && format !== UNSPECIFIED && format !== wanted)
    fail('saml_nameid_differs', { format, wanted })
  return { value, format: format === UNSPECIFIED ? wanted : format }
}

export function checkTimes(element: Element, now: number): void {
  const [from, until] = ['NotBefore', 'NotOnOrAfter'].map(name =>
    attribute(element, name) === undefined ? undefined : timeOf(element, name),
  )
  if (from !== undefined && now < from - SKEW_MS) expired('it is not valid yet')
  if (until !== undefined && now >= until + SKEW_MS) expired('it is no longer valid')
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,12})?(Z|[+-]\d\d:\d\d)$/

export function timeOf(element: Element, name: string): number {
  const text = attribute(element, name) ?? ''
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time)) throw new XmlFault(`its ${name} is not a time`)
  return time
}
