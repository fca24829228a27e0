import { kinds } from '#contract/kinds/index.ts'
import type { Shape } from '#contract/shape.ts'
import { assertNoSecret, findSecret } from './secrets.ts'

/** A field for a secret: where it is, from the name of its kind on, and what the API does with it. */
interface SecretField {
  readonly path: readonly string[]
  readonly name: string
  readonly secrecy: 'returned' | 'masked' | 'hidden'
  /** False for what the server makes for itself. */
  readonly isGiven: boolean
}

const fieldsIn = (shape: Shape, path: readonly string[]): SecretField[] =>
  Object.entries(shape).flatMap(([name, field]) => [
    ...(field.secret === undefined
      ? []
      : [{ path, name, secrecy: field.secret, isGiven: field.create !== 'never' }]),
    ...(field.shape ? fieldsIn(field.shape, [...path, name]) : []),
  ])

/** Every field for a secret that the contract has. */
export const secretFields: readonly SecretField[] = Object.values(kinds).flatMap(kind =>
  fieldsIn(kind.shape, [kind.name]),
)

const returned = new Set(secretFields.filter(each => each.secrecy === 'returned').map(each => each.name))
/** Of the same name as a returned one, perhaps, but never to be read. */
const unread = new Set(
  secretFields.filter(each => each.secrecy !== 'returned').map(({ path, name }) => `${path.at(-1)} ${name}`),
)

/** A response without the secrets that the specification returns to callers. */
function withoutReturned(value: unknown, parent: string): unknown {
  if (Array.isArray(value)) return value.map(each => withoutReturned(each, parent))
  if (typeof value !== 'object' || value === null) return value
  const left = Object.entries(value).filter(
    ([name]) => !returned.has(name) || unread.has(`${parent} ${name}`),
  )
  return Object.fromEntries(left.map(([name, each]) => [name, withoutReturned(each, name)]))
}

/** The same for a link that signs in. */
export const withoutLinkToken = (text: string): string =>
  text.replace(/(\/dashboard\/(?:login|invitation)#token=)\w+/, '$1')

/** A JSON response of the API without the secrets that it may contain. */
export function withoutVisibleSecrets(text: string, isCreation: boolean): string {
  const body: unknown = JSON.parse(text)
  const isOne = typeof body === 'object' && body !== null && !Array.isArray(body)
  // A new token is shown to its creator.
  const shown =
    JSON.stringify(withoutReturned(isOne && isCreation ? { ...body, token: undefined } : body, '')) ?? ''
  return isCreation ? withoutLinkToken(shown) : shown
}

/** Throws when a response contains a secret that the specification does not return to callers. */
export function assertNoSecretInResponse(call: string, text: string, isCreation: boolean): void {
  if (findSecret(text) !== undefined)
    assertNoSecret(`the answer to ${call}`, withoutVisibleSecrets(text, isCreation))
}
