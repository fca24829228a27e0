/** First labels below the shared domain that the server answers for itself. */
export const OWN_LABELS: readonly string[] = ['acme', 'api', 'cname', 'idp', 'ns1', 'ns2', 'tcp', 'tunnel']

/** Is the name, which lies under the base domain, one that nobody may take? */
export const isOwnName = (name: string, base: string): boolean =>
  name === base ||
  OWN_LABELS.includes(
    name
      .slice(0, -base.length - 1)
      .split('.')
      .at(-1) ?? '',
  )
