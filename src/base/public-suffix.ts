import { parse } from 'tldts'

const options = { allowPrivateDomains: true, extractHostname: false, validateHostname: false }

/**
 * Whether anyone can register names under this name, such as "co.uk" or "github.io", so that no user may own it. Names
 * that are not in the list, as on private networks, are not suffixes.
 */
export function isPublicSuffix(name: string): boolean {
  const { publicSuffix, isIcann, isPrivate } = parse(name, options)
  return publicSuffix === name && (isIcann === true || isPrivate === true)
}

/** RFC 6761, 7686 and 8375: in the list, but not in the public DNS. */
const notInDns = /(^|\.)(home\.arpa|onion|test|example|invalid|local|localhost|internal)$/

/** Whether this can be a name in the public DNS: registered under a public suffix, or below such a name. */
export function isPublicName(name: string): boolean {
  const { domain, isIcann, isPrivate } = parse(name, options)
  return domain !== null && (isIcann === true || isPrivate === true) && !notInDns.test(name)
}
