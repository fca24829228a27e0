import type { IncomingHttpHeaders } from 'node:http'
import { BlockList, isIP } from 'node:net'
import { isLoopbackHost } from '#base/hosts.ts'

/** Host without port and brackets, in lower case; undefined when it is invalid. */
export const hostOf = (value: string | undefined): string | undefined =>
  /^(?:\[([0-9a-f:.]+)\]|([^:[\]/\s@]+))(?::\d{1,5})?$/i
    .exec(value ?? '')
    ?.slice(1)
    .find(Boolean)
    ?.toLowerCase()

interface HostRules {
  /** Bound to loopback: only names of this machine are allowed unless more are listed. */
  readonly isLoopback: boolean
  /** Addresses, networks, host names and `.suffixes` that are allowed too. */
  readonly allowed: readonly string[]
  /** Hosts of tunnels whose service is this server itself. */
  readonly tunnelHosts: () => readonly string[]
}

export type HostCheck = (headers: IncomingHttpHeaders) => string | undefined

/**
 * Why a request is rejected, or undefined. A page of another site can make a browser send requests here, by its own
 * name after DNS rebinding or by ours; its Host or Origin then is not that of this server.
 */
export function hostCheck(rules: HostRules): HostCheck {
  const isListed = listed(rules.allowed)
  const isOpen = !rules.isLoopback && rules.allowed.length === 0
  return ({ host, origin }) => {
    const name = hostOf(host)
    if (name === undefined) return 'the Host header is missing or malformed'
    if (!isOpen && !isLoopbackHost(name) && !isListed(name) && !rules.tunnelHosts().includes(name))
      return `the host "${name.slice(0, 100)}" is not allowed; use localhost, or add it to web_allow_hosts`
    if (origin !== undefined && URL.parse(origin)?.host !== host?.toLowerCase())
      return `requests from the origin "${origin.slice(0, 100)}" are not allowed`
    return undefined
  }
}

function listed(allowed: readonly string[]): (name: string) => boolean {
  const networks = new BlockList()
  for (const each of allowed) {
    const [address = '', bits] = each.split('/')
    const version = isIP(address)
    if (version === 0) continue
    networks.addSubnet(address, Number(bits ?? (version === 4 ? 32 : 128)), version === 4 ? 'ipv4' : 'ipv6')
  }
  const names = allowed.map(each => each.toLowerCase())
  return name => {
    const version = isIP(name)
    if (version !== 0) return networks.check(name, version === 4 ? 'ipv4' : 'ipv6')
    return names.some(each => each === name || (each.startsWith('.') && name.endsWith(each)))
  }
}
