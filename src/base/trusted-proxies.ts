import { isIPv4 } from 'node:net'
import { canonicalAddress, plainAddress } from '#base/addresses.ts'
import { NetworkSet } from '#base/network-set.ts'
import type { ProxyHeaderName } from '#base/setting-values.ts'
import type { Settings } from '#base/settings.ts'

type ProxySettings = Pick<Settings, 'trusted_proxies' | 'trusted_proxy_header'>

/** What proxies report about a client: the header fields of a request, several lines joined by commas. */
export type ProxyFields = { readonly [Name in ProxyHeaderName]?: string | undefined }

/** Several lines of a field are one list (RFC 9110 §5.3). */
export const withProxyField = (
  before: ProxyFields | undefined,
  name: ProxyHeaderName,
  value: string,
): ProxyFields => ({
  ...before,
  [name]: before?.[name] === undefined ? value : `${before[name]},${value}`,
})

// A longer chain is a loop, or made up.
const MAX_HOPS = 32

/** The reverse proxies in front of this server, which pass on the address of their client. */
export class TrustedProxies {
  readonly #settings: ProxySettings
  readonly #networks: NetworkSet

  constructor(settings: ProxySettings) {
    this.#settings = settings
    this.#networks = new NetworkSet(() => settings.trusted_proxies)
  }

  /** Whether an address is that of a proxy, so that its connections are those of many clients. */
  has(ip: string): boolean {
    return this.#networks.has(ip)
  }

  /**
   * The client of a request from `peer`. Each proxy appends the address that it saw, so the list is read from its end:
   * the first address that is not a trusted proxy's is the client's, and what is before it may be made up.
   */
  clientOf(peer: string, fields: ProxyFields): string {
    if (!this.has(peer)) return peer
    const header = this.#settings.trusted_proxy_header
    const hops = (fields[header] ?? '').split(',').slice(-MAX_HOPS)
    let client = peer
    for (const hop of hops.toReversed()) {
      const address = addressIn(header === 'forwarded' ? forOf(hop) : hop)
      if (address === undefined) return client
      client = address
      if (!this.has(client)) return client
    }
    return client
  }
}

/** The value of `for` in an element of Forwarded (RFC 7239 §4). */
function forOf(element: string): string {
  const [, quoted, plain] = /(?:^|;)\s*for=(?:"([^"\\]*)"|([^\s";]*))\s*(?:;|$)/i.exec(element) ?? []
  return quoted ?? plain ?? ''
}

/** An address with or without a port; undefined for names such as "unknown". */
function addressIn(text: string): string | undefined {
  const [, bracketed, plain] = /^(?:\[([0-9a-f:.]+)\](?::\d{1,5})?|(.+))$/i.exec(text.trim()) ?? []
  if (bracketed !== undefined) return addressOf(bracketed)
  const [host = '', port] = (plain ?? '').split(':')
  return port !== undefined && isIPv4(host) && plain === `${host}:${port}` ? host : addressOf(plain ?? '')
}

function addressOf(text: string): string | undefined {
  const plain = plainAddress(text)
  return canonicalAddress(plain)
}
