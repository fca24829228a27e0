import { newId } from '#base/ids.ts'
import type { ResourceBody } from '#contract/body.ts'
import { eventTypes } from '#contract/events/index.ts'
import type { Kind } from '#contract/kind.ts'
import { kinds, type Collection } from '#contract/kinds/index.ts'
import { newSshAuthority } from '#pki/ssh-authority.ts'
import { secretText } from './secrets.ts'
import { AUTHORITY, issue } from './openssl.ts'
import type { Caller } from './server.ts'
import { Folder } from './folder.ts'

type Seed = (seeds: Seeds, count: number) => ResourceBody | Promise<ResourceBody>

const sshKey = async (): Promise<string> => (await newSshAuthority()).publicKey

async function certificate(): Promise<ResourceBody> {
  using folder = new Folder()
  const { certificate: chain, key } = await issue(folder, { name: 'app.example.com' })
  return { certificate_pem: chain, private_key_pem: key }
}

async function authority(): Promise<ResourceBody> {
  using folder = new Folder()
  return { ca_pem: (await issue(folder, { name: 'authority', extensions: AUTHORITY })).certificate }
}

const sshCertificate: Seed = async seeds => ({
  public_key: await sshKey(),
  ssh_certificate_authority_id: await seeds.id('ssh_certificate_authorities'),
})

/** One restriction of each type may exist: the first stays, the others take turns. */
const restrictionTypes = ['endpoints', 'dashboard', 'api']
const sourceTypes = [...eventTypes.keys()]

/** The minimal body to create one of each; `count` makes values unique where the API requires that. */
const bodies: Readonly<Partial<Record<Collection, Seed>>> = {
  abuse_reports: () => ({ urls: ['https://phishing.example.com/login'] }),
  agent_ingresses: (_, count) => ({ domain: `agents${count}.example.com` }),
  api_keys: () => ({}),
  bot_users: () => ({}),
  captures: (_, count) => ({ host: `seed${count}.example.com` }),
  certificate_authorities: authority,
  credentials: () => ({}),
  endpoint_configurations: () => ({ type: 'https' }),
  event_destinations: () => ({ target: { debug: {} } }),
  event_sources: (_, count) => ({ type: sourceTypes[count % sourceTypes.length] }),
  event_subscriptions: async seeds => ({ destination_ids: [await seeds.id('event_destinations')] }),
  failover_backends: async seeds => ({ backends: [await seeds.id('http_response_backends')] }),
  http_response_backends: () => ({}),
  https_edge_routes: (_, count) => ({ match_type: 'path_prefix', match: `/seed/${count}` }),
  https_edges: () => ({}),
  ip_policies: () => ({}),
  ip_policy_rules: async (seeds, count) => ({
    cidr: `10.${Math.floor(count / 256) % 256}.${count % 256}.0/24`,
    ip_policy_id: await seeds.id('ip_policies'),
    action: 'allow',
  }),
  ip_restrictions: async (seeds, count) => ({
    type: count === 0 ? 'agent' : restrictionTypes[count % restrictionTypes.length],
    ip_policy_ids: [await seeds.id('ip_policies')],
  }),
  reserved_addrs: () => ({}),
  reserved_domains: (_, count) => ({ name: `seed${count}` }),
  service_users: () => ({}),
  ssh_certificate_authorities: () => ({}),
  ssh_credentials: async () => ({ public_key: await sshKey() }),
  ssh_host_certificates: sshCertificate,
  ssh_user_certificates: sshCertificate,
  static_backends: () => ({ address: '127.0.0.1:8080' }),
  tcp_edges: () => ({}),
  tls_certificates: certificate,
  // Its mutual_tls module needs TLS to end at the edge.
  tls_edges: () => ({ tls_termination: {} }),
  tunnel_group_backends: () => ({ labels: { app: 'seed' } }),
  users: (_, count) => ({ email: `seed${count}@example.com` }),
  weighted_backends: async seeds => ({ backends: { [await seeds.id('http_response_backends')]: 1 } }),
}

const METADATA =
  '<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example"/>'
const policies: Seed = async seeds => ({ ip_policy_ids: [await seeds.id('ip_policies')] })

/** The minimal body of each module; others accept an empty one. */
const modules: Readonly<Record<string, Seed>> = {
  backend: async seeds => ({ backend_id: await seeds.id('http_response_backends') }),
  ip_policy: policies,
  ip_restriction: policies,
  mutual_tls: async seeds => ({ certificate_authority_ids: [await seeds.id('certificate_authorities')] }),
  oauth: () => ({ provider: { google: {} } }),
  oidc: () => ({ issuer: 'https://id.example.com', client_id: 'adit', client_secret: secretText('oidc') }),
  saml: () => ({ idp_metadata: METADATA }),
  webhook_validation: () => ({ provider: 'github', secret: secretText('webhook') }),
  webhook_verification: () => ({ provider: 'github', secret: secretText('webhook') }),
}

/** What takes long to make and may be the same every time. */
const shared: ReadonlySet<Collection> = new Set(['certificate_authorities', 'tls_certificates'])

/** The collections of which a caller can make resources. */
export const creatable = Object.keys(bodies) as Collection[]

export const isCollection = (name: string): name is Collection => name in kinds

/** Makes resources of every kind through the API, and what they need before. */
export class Seeds {
  readonly #api: Caller
  readonly #made = new Map<Collection, Promise<ResourceBody>>()
  readonly #counts = new Map<Collection, number>()
  readonly #bodies = new Map<Collection, Promise<ResourceBody>>()

  constructor(api: Caller) {
    this.#api = api
  }

  /** Has made one resource of each kind. */
  static async all(api: Caller): Promise<Seeds> {
    const seeds = new Seeds(api)
    for (const collection of creatable) await seeds.one(collection)
    return seeds
  }

  /** A body that makes another resource; no two of them are equal where the API refuses equals. */
  async body(collection: Collection): Promise<ResourceBody> {
    const seed = bodies[collection]
    if (!seed) throw new Error(`${collection} cannot be made by a caller`)
    const count = this.#counts.get(collection) ?? 0
    this.#counts.set(collection, count + 1)
    const known = this.#bodies.get(collection)
    if (known) return { ...(await known) }
    const body = Promise.resolve(seed(this, count))
    if (shared.has(collection)) this.#bodies.set(collection, body)
    return { ...(await body) }
  }

  /** A body that sets a module. */
  module = async (name: string): Promise<ResourceBody> => (await modules[name]?.(this, 0)) ?? {}

  /** Makes another resource; answers it as the API does. */
  async make(collection: Collection, more: ResourceBody = {}): Promise<ResourceBody> {
    const body = { ...(await this.body(collection)), ...more }
    const answer = await this.#api.post(await this.path(collection), body)
    if (answer.status !== 201) throw new Error(`${collection}: ${JSON.stringify(answer.body)}`)
    return answer.body as ResourceBody
  }

  /** The resource of a collection that others may refer to, made when first needed. */
  one(collection: Collection): Promise<ResourceBody> {
    const known = this.#made.get(collection)
    if (known) return known
    const made = this.make(collection)
    this.#made.set(collection, made)
    return made
  }

  /** Its id; of what only the server makes, an id that names nothing. */
  async id(collection: Collection): Promise<string> {
    const { key, prefix = '' }: Kind = kinds[collection]
    return bodies[collection] ? String((await this.one(collection))[key]) : newId(prefix)
  }

  /** The path of a collection; where resources belong to others, to the one that `id` names. */
  async path(collection: Collection): Promise<string> {
    const { path, parent }: Kind = kinds[collection]
    if (!parent) return path
    const outer = Object.entries(kinds).find(([, kind]) => kind.name === parent.kind)?.[0] ?? ''
    return path.replace(`{${parent.param}}`, isCollection(outer) ? await this.id(outer) : '')
  }
}
