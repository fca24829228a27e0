import { parse } from 'tldts'

/**
 * Is this a name that anybody can register names under, such as "co.uk" or "github.io"? It belongs to all of them, so
 * nobody may have it. Names that the list does not know, as on private networks, are nobody's suffix.
 */
export function isPublicSuffix(name: string): boolean {
  const { publicSuffix, isIcann, isPrivate } = parse(name, {
    allowPrivateDomains: true,
    extractHostname: false,
    validateHostname: false,
  })
  return publicSuffix === name && (isIcann === true || isPrivate === true)
}
