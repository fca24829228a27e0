import { isIP } from 'node:net'
import { canonicalAddress, plainAddress } from '#base/addresses.ts'
import { MessageError } from '#base/json-fields.ts'

export interface ProxyEnd {
  readonly ip: string
  readonly port: number
}

/** The content of a PROXY header; undefined when the proxy speaks for itself, such as in a health check. */
export type ProxiedAddresses = { readonly source: ProxyEnd; readonly destination: ProxyEnd } | undefined

export const PROXY_SIGNATURE = Buffer.from('0d0a0d0a000d0a515549540a', 'hex')
const FIXED_BYTES = 16
const TEXT_BYTES = 107
// Addresses and the extensions that proxies add, such as the name in a client certificate.
const MAX_BYTES = 4096
const TEXT_START = Buffer.from('PROXY ')
const LOCAL = 0
const PROXY = 1
const TCP_OVER_IPV4 = 0x11
const TCP_OVER_IPV6 = 0x21

const beginsLike = (bytes: Buffer, start: Buffer): boolean => {
  const seen = Math.min(bytes.length, start.length)
  return bytes.subarray(0, seen).equals(start.subarray(0, seen))
}

/**
 * Length of the PROXY header at the start of these bytes, of version 1 or 2; undefined while it is incomplete. Throws
 * at the first byte that shows that there is none.
 */
export function proxyHeaderLength(bytes: Buffer): number | undefined {
  if (beginsLike(bytes, PROXY_SIGNATURE)) {
    if (bytes.length < FIXED_BYTES) return undefined
    const length = FIXED_BYTES + bytes.readUInt16BE(FIXED_BYTES - 2)
    if (length > MAX_BYTES) throw new MessageError('The PROXY header is too long.')
    return length <= bytes.length ? length : undefined
  }
  if (!beginsLike(bytes, TEXT_START)) throw new MessageError('There is no PROXY header.')
  const end = bytes.subarray(0, TEXT_BYTES).indexOf('\r\n')
  if (end !== -1) return end + 2
  if (bytes.length >= TEXT_BYTES) throw new MessageError('The PROXY header has no end.')
  return undefined
}

/** Parses a whole PROXY header. */
export const parseProxyHeader = (header: Buffer): ProxiedAddresses =>
  beginsLike(header, PROXY_SIGNATURE) ? parseBinary(header) : parseText(header.toString('latin1'))

function parseText(line: string): ProxiedAddresses {
  const [, family, ...rest] = line.slice(0, -2).split(' ')
  if (family === 'UNKNOWN') return undefined
  const [from = '', to = '', fromPort = '', toPort = ''] = rest
  const version = family === 'TCP4' ? 4 : family === 'TCP6' ? 6 : 0
  if (rest.length !== 4 || isIP(from) !== version || isIP(to) !== version) return invalid()
  return { source: endOf(from, fromPort), destination: endOf(to, toPort) }
}

function endOf(ip: string, port: string): ProxyEnd {
  if (!/^(?:0|[1-9]\d{0,4})$/.test(port) || Number(port) > 65_535) return invalid()
  return { ip: plain(ip), port: Number(port) }
}

function parseBinary(header: Buffer): ProxiedAddresses {
  const versionAndCommand = header.readUInt8(12)
  const family = header.readUInt8(13)
  const command = versionAndCommand & 0x0f
  if (versionAndCommand >>> 4 !== 2 || (command !== LOCAL && command !== PROXY)) return invalid()
  if (command === LOCAL) return undefined
  const size = family === TCP_OVER_IPV4 ? 4 : family === TCP_OVER_IPV6 ? 16 : 0
  // Another family, such as a Unix socket, has no address that could be used.
  if (size === 0) return family === 0 ? undefined : invalid()
  if (header.length < FIXED_BYTES + 2 * size + 4) return invalid()
  const ports = FIXED_BYTES + 2 * size
  const at = (start: number): string => addressText(header.subarray(start, start + size))
  return {
    source: { ip: at(FIXED_BYTES), port: header.readUInt16BE(ports) },
    destination: { ip: at(FIXED_BYTES + size), port: header.readUInt16BE(ports + 2) },
  }
}

function addressText(octets: Buffer): string {
  if (octets.length === 4) return octets.join('.')
  const groups = Array.from({ length: 8 }, (_, at) => octets.readUInt16BE(2 * at).toString(16))
  const mapped = octets.subarray(0, 12).equals(MAPPED) ? octets.subarray(12).join('.') : undefined
  return mapped ?? plain(groups.join(':'))
}

const MAPPED = Buffer.from('00000000000000000000ffff', 'hex')

const plain = (ip: string): string => {
  const address = plainAddress(ip)
  return canonicalAddress(address) ?? address
}

function invalid(): never {
  throw new MessageError('The PROXY header is invalid.')
}
