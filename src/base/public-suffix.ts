import { parse } from 'tldts'

const options = { allowPrivateDomains: true, extractHostname: false, validateHostname: false }

/**
 * Is this a name that anybody can register names under, such as "co.uk" or "github.io"? It belongs to all of them, so
 * nobody may have it. Names that the list does not know, as on private networks, are nobody's suffix.
 */
export function isPublicSuffix(name: string): boolean {
  const { publicSuffix, isIcann, isPrivate } = parse(name, options)
  return publicSuffix === name && (isIcann === true || isPrivate === true)
}

/** RFC 6761, 7686 and 8375: in the list of suffixes, and yet not of the public DNS. */
const notInDns = /(^|\.)(home\.arpa|onion|test|example|invalid|local|localhost|internal)$/

/** Can this be a name in the public DNS: one that somebody registered under a public suffix, or one below it? */
export function isPublicName(name: string): boolean {
  const { domain, isIcann, isPrivate } = parse(name, options)
  return domain !== null && (isIcann === true || isPrivate === true) && !notInDns.test(name)
}
