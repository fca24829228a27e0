import { ASSERTION, EMAIL } from '#auth/saml/names.ts'
import { allNamed, attribute, type Element, textIn, elementsOf } from '#auth/saml/xml.ts'
import type { UserIdentity } from '#http/identity.ts'

/** Values by the name of their attribute. */
type Attributes = ReadonlyMap<string, readonly string[]>

const CLAIMS = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims'
const MAX_VALUE = 1024

/** The attribute names of common providers; the first one present counts. */
const names = {
  groups: [
    'groups',
    'Groups',
    'memberOf',
    'http://schemas.xmlsoap.org/claims/Group',
    'http://schemas.microsoft.com/ws/2008/06/identity/claims/groups',
    'urn:oid:1.3.6.1.4.1.5923.1.5.1.1',
  ],
  email: [
    'email',
    'Email',
    'mail',
    'emailAddress',
    `${CLAIMS}/emailaddress`,
    'urn:oid:0.9.2342.19200300.100.1.3',
  ],
  name: [
    'name',
    'displayName',
    'http://schemas.microsoft.com/identity/claims/displayname',
    'urn:oid:2.16.840.1.113730.3.1.241',
    'cn',
    'urn:oid:2.5.4.3',
    `${CLAIMS}/name`,
  ],
  givenName: ['givenName', 'firstName', 'first_name', `${CLAIMS}/givenname`, 'urn:oid:2.5.4.42'],
  surname: ['sn', 'surname', 'lastName', 'last_name', `${CLAIMS}/surname`, 'urn:oid:2.5.4.4'],
  username: ['username', 'uid', 'urn:oid:0.9.2342.19200300.100.1.1', `${CLAIMS}/upn`],
} as const

/** All attributes of an assertion; values of repeated ones are merged. */
export function attributesOf(assertion: Element): Attributes {
  const found = new Map<string, string[]>()
  for (const statement of allNamed(assertion, ASSERTION, 'AttributeStatement')) {
    for (const each of allNamed(statement, ASSERTION, 'Attribute')) {
      const name = attribute(each, 'Name') ?? ''
      found.set(name, [...(found.get(name) ?? []), ...valuesOf(each)])
    }
  }
  return found
}

/** Structured values, such as a NameID in eduPersonTargetedID, are not used. */
const valuesOf = (element: Element): string[] =>
  allNamed(element, ASSERTION, 'AttributeValue')
    .filter(value => elementsOf(value).length === 0)
    .map(textIn)

export const groupsIn = (attributes: Attributes): string[] =>
  names.groups.flatMap(name => attributes.get(name) ?? [])

export function identityOf(
  nameId: { readonly value: string; readonly format: string },
  attributes: Attributes,
): UserIdentity {
  const first = (of: keyof typeof names): string =>
    names[of].flatMap(name => attributes.get(name) ?? []).find(isUsable) ?? ''
  const parts = [first('givenName'), first('surname')].filter(Boolean)
  return {
    id: nameId.value,
    username: first('username') || nameId.value,
    email: nameId.format === EMAIL ? nameId.value : first('email'),
    name: first('name') || parts.join(' '),
  }
}

/** The values become headers and are stored: no long ones and no control characters. */
const isUsable = (value: string): boolean =>
  value !== '' && value.length <= MAX_VALUE && !/\p{Cc}/u.test(value)
