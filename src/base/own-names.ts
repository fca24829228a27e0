/** First labels below the shared domain that the server answers for itself. */
export const OWN_LABELS: readonly string[] = ['acme', 'api', 'cname', 'idp', 'ns1', 'ns2', 'tcp', 'tunnel']

/** The name servers of the shared domain and of domains that are delegated here; a registrar wants at least two. */
export const nameServers = (base: string): string[] => ['ns1', 'ns2'].map(label => `${label}.${base}`)

export const isOwnLabel = (label: string): boolean => OWN_LABELS.includes(label)

/** Is the name, which lies under the base domain, one that nobody may take? */
export const isOwnName = (name: string, base: string): boolean =>
  name === base ||
  OWN_LABELS.includes(
    name
      .slice(0, -base.length - 1)
      .split('.')
      .at(-1) ?? '',
  )
