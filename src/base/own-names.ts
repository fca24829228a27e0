/** First labels below the shared domain that the server itself uses. */
const OWN_LABELS: readonly string[] = [
  'acme',
  'api',
  'cname',
  'dashboard',
  'idp',
  'ns1',
  'ns2',
  'tcp',
  'tunnel',
]

/** Where the HTTPS listener serves the API and the dashboard. */
export const apiHost = (base: string): string => `api.${base}`
export const dashboardHost = (base: string): string => `dashboard.${base}`

/** The name servers of the shared domain and of delegated domains; registrars require at least two. */
export const nameServers = (base: string): string[] => ['ns1', 'ns2'].map(label => `${label}.${base}`)

export const isOwnLabel = (label: string): boolean => OWN_LABELS.includes(label)

/** Whether a name under the base domain is reserved for the server. */
export const isOwnName = (name: string, base: string): boolean =>
  name === base ||
  OWN_LABELS.includes(
    name
      .slice(0, -base.length - 1)
      .split('.')
      .at(-1) ?? '',
  )
