import { randomInt } from 'node:crypto'
import { fail } from '#base/errors.ts'
import { covers } from '#base/hosts.ts'
import { isOwnName } from '#base/own-names.ts'
import type { EndpointAddress, Directory } from '#registry/directory.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import { textOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'
import { addressText } from '#gateway/agents/acl.ts'
import { AddressRights, type Claimant } from '#gateway/agents/address-rights.ts'
import type { OnlineNames } from '#gateway/agents/online-names.ts'
import { isPortFree } from '#gateway/agents/ports.ts'

const NAME_LENGTH = 10
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789'
const randomLabel = (): string =>
  Array.from({ length: NAME_LENGTH }, () => ALPHABET.charAt(randomInt(ALPHABET.length))).join('')

type NameScheme = 'http' | 'https' | 'tls'

/** An address that may be bound, and the reservations it uses. */
export interface AllocatedAddress {
  readonly address: EndpointAddress
  readonly url: string
  readonly domainId: string | undefined
  readonly addrId: string | undefined
}

interface AddressAllocatorOptions {
  readonly info: GatewayInfo
  readonly records: Records
  readonly directory: Directory
  readonly online: OnlineNames
}

/** Knows which addresses exist, their URLs and their owners. */
export class AddressAllocator {
  readonly #info: GatewayInfo
  readonly #records: Records
  readonly #directory: Directory
  readonly #rights: AddressRights

  constructor({ info, records, directory, online }: AddressAllocatorOptions) {
    this.#info = info
    this.#records = records
    this.#directory = directory
    this.#rights = new AddressRights({ domain: info.domain, records, online })
  }

  /** A random name; the directory decides whether it is free. */
  randomName(scheme: NameScheme, claimant: Claimant): AllocatedAddress {
    return this.name(scheme, `${randomLabel()}.${this.#info.domain}`, claimant)
  }

  /** A requested name. */
  name(scheme: NameScheme, host: string, claimant: Claimant): AllocatedAddress {
    const port = scheme === 'http' ? this.#info.httpPort : this.#info.httpsPort
    if (port === undefined) return fail('listener_off', { scheme })
    const edge = this.#records.edgeForName(host)
    if (edge !== undefined) fail('address_of_edge', { url: `${scheme}://${host}` })
    const domainId = this.#reservationFor(host)
    this.#rights.requireName(host, claimant)
    const url = `${scheme}://${host}${port === (scheme === 'http' ? 80 : 443) ? '' : `:${port}`}`
    return { address: { scheme, host }, url, domainId, addrId: undefined }
  }

  /** A free port, from a random start so that a freed one is not reused at once. */
  async randomPort(): Promise<AllocatedAddress> {
    const { first, last } = this.#info.randomTcpPorts
    const count = last - first + 1
    const start = randomInt(count)
    const taken = this.#takenPorts()
    for (let step = 0; step < count; step++) {
      const port = first + ((start + step) % count)
      if (taken.has(port) || this.#isReserved(port)) continue
      if (await isPortFree(port, this.#info.tcp_host)) return this.#allocated(port)
    }
    return fail('ports_exhausted', { first, last })
  }

  /** A requested port. If the tunnel had it a moment ago, we may still be listening there. */
  async port(port: number, { ownerId, returns }: Claimant): Promise<AllocatedAddress> {
    const { first, last } = this.#info.tcp_ports
    if (port < first || port > last)
      fail('bind_port', {
        port,
        reason: `ports from ${first} to ${last} may be used (setting tcp_ports of the gateway)`,
      })
    const edge = this.#records.edgeForPort(port)
    if (edge !== undefined) fail('address_of_edge', { url: `tcp://:${port}` })
    const allocated = this.#allocated(port)
    this.#rights.requirePort(this.#records.reservedAddr(port), addressText(allocated.address), ownerId)
    if (!returns && !this.#takenPorts().has(port) && !(await isPortFree(port, this.#info.tcp_host)))
      fail('bind_port', { port, reason: 'another program listens there' })
    return allocated
  }

  #allocated(port: number): AllocatedAddress {
    const reserved = this.#records.reservedAddr(port)
    const addr = reserved ? textOf(reserved, 'addr') : `1.tcp.${this.#info.domain}:${port}`
    const address = { scheme: 'tcp', host: addr.slice(0, addr.lastIndexOf(':')), port } as const
    return { address, url: `tcp://${addr}`, domainId: undefined, addrId: reserved?.id }
  }

  #isReserved(port: number): boolean {
    return (this.#records.reservedAddr(port) ?? this.#records.edgeForPort(port)) !== undefined
  }

  #takenPorts(): Set<number> {
    const ports = new Set<number>()
    for (const { address } of this.#directory.tunnels.values())
      if (address?.scheme === 'tcp') ports.add(address.port)
    return ports
  }

  /** Names under the shared domain are for all; any other must be reserved. */
  #reservationFor(host: string): string | undefined {
    const { domain } = this.#info
    const reserved = this.#records.reservedDomain(host)
    const isShared = host === domain || covers(`*.${domain}`, host)
    if (isShared && isOwnName(host, domain))
      fail('bind_name', { name: host, reason: 'it is used by the server itself' })
    if (host.startsWith('*.') && reserved?.body.domain !== host)
      fail('bind_name', { name: host, reason: 'a wildcard must be reserved first' })
    if (reserved === undefined && !isShared) fail('name_not_reserved', { name: host, domain })
    return reserved?.id
  }
}
