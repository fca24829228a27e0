import { api } from '#ui/dashboard/api.ts'

/** What can be protected: a route of an edge, or a reserved domain without an edge. */
export type Protectable =
  | {
      readonly type: 'edge'
      readonly id: string
      readonly url: string
      readonly routes: readonly { readonly id: string; readonly match: string }[]
    }
  | { readonly type: 'domain'; readonly id: string; readonly url: string; readonly configuration?: string }
  /** Only its agent can do it. */
  | { readonly type: 'agent'; readonly url: string }

async function edgeOf(id: string): Promise<Protectable> {
  const { hostports, routes } = await api.https_edges.get(id)
  const host = hostports?.find(each => !each.startsWith('*'))?.replace(/:443$/, '')
  return { type: 'edge', id, url: host === undefined ? '' : `https://${host}/`, routes }
}

export async function protectable(query: URLSearchParams): Promise<Protectable> {
  const edge = query.get('edge')
  if (edge !== null) return edgeOf(edge)
  const { public_url: url, edge: its, domain } = await api.endpoints.get(query.get('endpoint') ?? '')
  if (its) return edgeOf(its.id)
  if (!domain) return { type: 'agent', url }
  const { https_endpoint_configuration: configuration } = await api.reserved_domains.get(domain.id)
  return { type: 'domain', id: domain.id, url, ...(configuration && { configuration: configuration.id }) }
}

export interface SignInDraft {
  readonly provider: string
  readonly clientId: string
  readonly clientSecret: string
  /** E-mail addresses and domains, separated by spaces or commas. */
  readonly allowed: string
}

/** The OAuth module for a draft. */
function moduleOf({ provider, clientId, clientSecret, allowed }: SignInDraft) {
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

/** Sets the module where the traffic of the target is configured. */
export async function protect(
  target: Exclude<Protectable, { type: 'agent' }>,
  route: string,
  draft: SignInDraft,
): Promise<void> {
  const oauth = moduleOf(draft)
  if (target.type === 'edge') await api.https_edge_routes.replace_oauth(target.id, route, oauth)
  else if (target.configuration === undefined) {
    const { id } = await api.endpoint_configurations.create({ type: 'https', oauth })
    await api.reserved_domains.update(target.id, { https_endpoint_configuration_id: id })
  } else await api.endpoint_configurations.replace_oauth(target.configuration, oauth)
}
