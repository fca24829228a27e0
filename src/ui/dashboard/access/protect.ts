import { isPlainObject } from '#base/plain-object.ts'
import { signInModules } from '#contract/modules/sign-in.ts'
import { api, call } from '#ui/dashboard/api.ts'
import type { Resource } from '#ui/dashboard/kinds/resource.ts'

interface ProtectableRoute {
  readonly id: string
  readonly match: string
  /** The modules that require sign-in. */
  readonly guards: readonly string[]
}

/** What can be protected: a route of an edge, or a reserved domain without an edge. */
export type Protectable =
  | {
      readonly type: 'edge'
      readonly id: string
      readonly url: string
      readonly routes: readonly ProtectableRoute[]
      /** The modules of the edge itself, for all of its routes. */
      readonly guards: readonly string[]
    }
  | {
      readonly type: 'domain'
      readonly id: string
      readonly domain: string
      readonly url: string
      readonly configuration?: string
      readonly guards: readonly string[]
    }
  /** Only its agent can do it. */
  | { readonly type: 'agent'; readonly url: string }

export type FormTarget = Exclude<Protectable, { type: 'agent' }>

/** Modules that reject clients without an identity. */
const GUARDS = [...signInModules, 'basic_auth', 'mutual_tls']

const isOn = (module: unknown): boolean => isPlainObject(module) && module['enabled'] !== false

const guardsOf = (resource: Resource): string[] => GUARDS.filter(name => isOn(resource[name]))

async function edgeOf(id: string): Promise<Protectable> {
  const edge = await api.https_edges.get(id)
  const host = edge.hostports?.find(each => !each.startsWith('*'))?.replace(/:443$/, '')
  return {
    type: 'edge',
    id,
    url: host === undefined ? '' : `https://${host}/`,
    routes: edge.routes.map(route => ({ id: route.id, match: route.match, guards: guardsOf(route) })),
    guards: guardsOf(edge),
  }
}

export async function protectable(query: URLSearchParams): Promise<Protectable> {
  const edge = query.get('edge')
  if (edge !== null) return edgeOf(edge)
  const { public_url: url, edge: its, domain: ref } = await api.endpoints.get(query.get('endpoint') ?? '')
  if (its) return edgeOf(its.id)
  if (!ref) return { type: 'agent', url }
  const { id, domain, https_endpoint_configuration: configuration } = await api.reserved_domains.get(ref.id)
  const target = { type: 'domain', id, domain, url } as const
  if (!configuration) return { ...target, guards: [] }
  const guards = guardsOf(await api.endpoint_configurations.get(configuration.id))
  return { ...target, configuration: configuration.id, guards }
}

/** The modules that protect the target, or one route of it, now. */
export const guardsAt = (target: FormTarget, route: string): readonly string[] => [
  ...target.guards,
  ...(target.type === 'edge' ? (target.routes.find(({ id }) => id === route)?.guards ?? []) : []),
]

/** The choice of a provider by its URL. */
export const OPENID = 'openid'

export interface SignInDraft {
  /** An OAuth provider, or `OPENID`. */
  readonly provider: string
  /** Of an OpenID provider. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** E-mail addresses and domains, separated by spaces or commas. */
  readonly allowed: string
}

/** A known certificate authority, or the certificate of a new one. */
export interface CertificateDraft {
  readonly authority: string
  readonly pem: string
}

/** The OAuth module for a draft. */
function oauthOf({ provider, clientId, clientSecret, allowed }: SignInDraft) {
  const entries = allowed.split(/[\s,]+/).filter(each => each !== '')
  return {
    provider: {
      [provider]: {
        ...(clientId !== '' && { client_id: clientId, client_secret: clientSecret }),
        email_addresses: entries.filter(each => each.includes('@')),
        email_domains: entries.filter(each => !each.includes('@')),
      },
    },
  }
}

/** Where a module of the target is: client certificates are of the connection, and so of the whole edge. */
const placeOf = (target: FormTarget, route: string, name: string): [string, ...string[]] => {
  if (target.type === 'domain') return ['endpoint_configurations', target.configuration ?? '']
  return name === 'mutual_tls' ? ['https_edges', target.id] : ['https_edge_routes', target.id, route]
}

/** Sets a module where the traffic of the target is configured. */
async function set(target: FormTarget, route: string, name: string, module: object): Promise<void> {
  if (target.type === 'domain' && target.configuration === undefined) {
    const { id } = await api.endpoint_configurations.create({ type: 'https', [name]: module })
    await api.reserved_domains.update(target.id, { https_endpoint_configuration_id: id })
    return
  }
  const [collection, ...ids] = placeOf(target, route, name)
  await call(collection, `replace_${name}`, ...ids, module)
}

export function requireSignIn(target: FormTarget, route: string, draft: SignInDraft): Promise<void> {
  const { provider, issuer, clientId, clientSecret } = draft
  if (provider !== OPENID) return set(target, route, 'oauth', oauthOf(draft))
  return set(target, route, 'oidc', { issuer, client_id: clientId, client_secret: clientSecret })
}

export const requirePassword = (target: FormTarget, route: string): Promise<void> =>
  set(target, route, 'basic_auth', {})

export async function requireCertificate(
  target: FormTarget,
  route: string,
  { authority, pem }: CertificateDraft,
): Promise<void> {
  const id = authority === '' ? (await api.certificate_authorities.create({ ca_pem: pem })).id : authority
  await set(target, route, 'mutual_tls', { certificate_authority_ids: [id] })
}

/** Removes every protection of the target. */
export async function makePublic(target: FormTarget, route: string): Promise<void> {
  for (const name of guardsAt(target, route)) {
    const [collection, ...ids] = placeOf(target, route, name)
    await call(collection, `delete_${name}`, ...ids)
  }
}
