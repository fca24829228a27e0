import { isPlainObject } from '#base/plain-object.ts'
import { hasPrefixOf, type Kind } from '#contract/kind.ts'
import { kinds, type Collection } from '#contract/kinds/index.ts'
import type { Field } from '#contract/shape.ts'
import { browserName } from '#ui/dashboard/kinds/browser-name.ts'
import { href } from '#ui/dashboard/router.ts'
import { counted } from '#ui/format.ts'

export type Resource = Readonly<Record<string, unknown>>

export const isCollection = (name: string): name is Collection => Object.hasOwn(kinds, name)

export const kindOf = (collection: Collection): Kind => kinds[collection]

export const collectionOfKind = (name: string): Collection | undefined =>
  (Object.keys(kinds) as Collection[]).find(collection => kinds[collection].name === name)

export const text = (value: unknown): string => (typeof value === 'string' ? value : '')

export const keyOf = (kind: Kind, resource: Resource): string => text(resource[kind.key])

/** Fields that name a resource for people, best first. */
const NAMES = [
  'domain',
  'public_url',
  'description',
  'name',
  'email',
  'addr',
  'address',
  'hostports',
  'match',
  'cidr',
  'type',
  'username',
  'subject_common_name',
  'forwards_to',
  'ip',
] as const

const part = (value: unknown, name: string): string => (isPlainObject(value) ? text(value[name]) : '')

const entriesOf = (value: unknown): [string, unknown][] => Object.entries(value ?? {})

/** Names of kinds that no single field names, unless they have a description. */
const composed: Readonly<Record<string, (resource: Resource) => string>> = {
  tunnel_session: ({ metadata, ip }) => text(metadata) || `Agent at ${text(ip)}`,
  dashboard_session: ({ user_agent: agent, ip }) => `${browserName(text(agent))} at ${text(ip)}`,
  application_session: ({ browser_session: browser }) => {
    const agent = isPlainObject(browser) ? part(browser['user_agent'], 'raw') : ''
    return `${browserName(agent)} at ${part(browser, 'ip_address')}`
  },
  http_response_backend: ({ status_code: status }) => `Status ${String(status)}`,
  tunnel_group_backend: ({ labels }) =>
    entriesOf(labels)
      .map(([name, value]) => `${name}=${String(value)}`)
      .join(', '),
  weighted_backend: ({ backends }) => `${counted(entriesOf(backends).length, 'backend')} by weight`,
  failover_backend: ({ backends }) => `${counted(entriesOf(backends).length, 'backend')} in order`,
}

/** Certificates of public authorities often have no common name. */
function alternativeNames({ subject_alternative_names: others }: Resource): string {
  const names = isPlainObject(others) ? others['dns_names'] : undefined
  return Array.isArray(names) ? names.join(', ') : ''
}

/** What people call a resource; its id if nothing else. */
export function nameOf(kind: Kind, resource: Resource): string {
  const compose = composed[kind.name]
  if (compose) return text(resource['description']) || compose(resource) || keyOf(kind, resource)
  for (const name of NAMES) {
    const value = resource[name]
    if (typeof value === 'string' && value !== '') return value
    if (Array.isArray(value) && typeof value[0] === 'string') return value.join(', ')
  }
  return alternativeNames(resource) || keyOf(kind, resource)
}

/** The page of a resource; its parent is part of the query, as its own id does not name it. */
export const resourceHref = (
  collection: Collection,
  id: string,
  parent?: string,
  more: string[] = [],
): string => href([collection, id, ...more], parent === undefined ? {} : { parent })

export const kindOfId = (id: string): Kind | undefined =>
  Object.values<Kind>(kinds).find(kind => hasPrefixOf(kind, id))

/** The collection of the resource with an id, if it can be read by its id alone. */
export function collectionOfId(id: string): Collection | undefined {
  for (const [collection, kind] of Object.entries(kinds) as [Collection, Kind][])
    if (hasPrefixOf(kind, id) && kind.verbs.includes('get') && !kind.parent) return collection
  return undefined
}

/** The page of the resource with an id, if its kind has one and needs no parent. */
export function hrefOfId(id: string): string | undefined {
  const collection = collectionOfId(id)
  return collection && resourceHref(collection, id)
}

export const isRef = (value: unknown): value is { readonly id: string } =>
  isPlainObject(value) && typeof value['id'] === 'string' && 'uri' in value

interface SchemaType {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly anyOf?: readonly SchemaType[]
}

/** The type of a field as read, without null; "reference" for Refs. */
function readType(field: Field): string {
  if (field.expand) return 'reference'
  const schema = (field.read ?? {}) as SchemaType
  const inner = schema.anyOf?.find(each => each.type !== 'null') ?? schema
  const type = typeof inner.type === 'string' ? inner.type : inner.type?.find(each => each !== 'null')
  return inner.format === 'date-time' ? 'moment' : (type ?? 'object')
}

const HIDDEN_COLUMNS = new Set([
  'uri',
  'metadata',
  'id',
  'owner_id',
  'region',
  'updated_at',
  'peer_address',
  'lease_age_ms',
])

/** The same for one kind only. */
const hiddenOf: Readonly<Record<string, readonly string[]>> = {
  dashboard_session: ['api_key'],
  reserved_domain: ['http_endpoint_configuration', 'https_endpoint_configuration'],
}

/** Kinds whose lists show the owner: often nothing else differs. */
const OWNED = new Set(['api_key', 'credential', 'dashboard_session', 'passkey', 'ssh_credential'])
const MAX_COLUMNS = 5

/** The fields that a table shows besides the name and the id. */
export function columnsOf(kind: Kind, without?: string): readonly (readonly [string, Field])[] {
  const inName: readonly string[] = composed[kind.name] ? ['user_agent'] : NAMES.slice(0, 4)
  return Object.entries(kind.shape)
    .filter(([name, field]) => {
      const type = readType(field)
      return (
        field.read !== undefined &&
        field.secret === undefined &&
        name !== without &&
        (!HIDDEN_COLUMNS.has(name) || (name === 'owner_id' && OWNED.has(kind.name))) &&
        hiddenOf[kind.name]?.includes(name) !== true &&
        !inName.includes(name) &&
        !/_pem$|^public_key$|^token$/.test(name) &&
        (['string', 'boolean', 'integer', 'number', 'moment'].includes(type) || field.expand === true)
      )
    })
    .slice(0, MAX_COLUMNS)
}

/** The fields that a text is looked for in. */
const searched = (kind: Kind): string[] =>
  Object.entries(kind.shape)
    .filter(
      ([, field]) => field.read !== undefined && field.secret === undefined && readType(field) === 'string',
    )
    .map(([name]) => name)

/** Fields with words of users. */
const described = ['description', 'name', 'domain', 'public_url', 'metadata']

/** An expression for people to begin with; undefined if no field has words of theirs. */
export function exampleFilter(kind: Kind): string | undefined {
  const names = searched(kind)
  const name = described.find(each => names.includes(each))
  return name && `obj.${name}.contains("shop")`
}

/** The filter of a list for a text: the resources that contain it in one of their fields. */
export function searchFilter(kind: Kind, words: string): string | undefined {
  const wanted = words.trim()
  if (wanted === '') return undefined
  if (/\bobj\./.test(wanted)) return wanted
  return searched(kind)
    .map(name => `obj.${name}.contains(${JSON.stringify(wanted)})`)
    .join(' || ')
}
