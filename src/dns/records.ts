import { isIPv6 } from 'node:net'
import { ipv6Groups } from '#base/addresses.ts'
import { types } from '#dns/message.ts'

/** The data of one record. Strings are names, which may be compressed; all else is bytes. */
export type RecordData = readonly (string | Buffer)[]

/** All records of a type that one name has. */
export interface RecordSet {
  readonly type: number
  /** Seconds. */
  readonly ttl: number
  readonly data: readonly RecordData[]
}

export interface Soa {
  readonly primary: string
  /** The responsible mailbox: a mail address whose @ is a dot. */
  readonly mailbox: string
  readonly serial: number
  /** Negative cache time, in seconds. */
  readonly negativeTtl: number
}

const MAX_TEXT = 255
// For secondary servers, in seconds; there are none that transfer the zone.
const [REFRESH, RETRY, EXPIRE] = [3600, 600, 604_800]

/** The record sets of these addresses: one per family. */
export function addressSets(addresses: readonly string[], ttl: number): RecordSet[] {
  const [v6, v4] = [addresses.filter(isIPv6), addresses.filter(address => !isIPv6(address))]
  return [
    { type: types.A, ttl, data: v4.map(address => [ipv4Bytes(address)]) },
    { type: types.AAAA, ttl, data: v6.map(address => [ipv6Bytes(address)]) },
  ].filter(({ data }) => data.length > 0)
}

export const nsSet = (servers: readonly string[], ttl: number): RecordSet => ({
  type: types.NS,
  ttl,
  data: servers.map(name => [name]),
})

export const cnameSet = (target: string, ttl: number): RecordSet => ({
  type: types.CNAME,
  ttl,
  data: [[target]],
})

/** Each text becomes a separate record. */
export const txtSet = (texts: readonly string[], ttl: number): RecordSet => ({
  type: types.TXT,
  ttl,
  data: texts.map(text => [charStrings(text)]),
})

/** CAA: the CAs that may issue certificates for the name and those below it (RFC 8659). */
export const caaSet = (authorities: readonly string[], ttl: number): RecordSet => ({
  type: types.CAA,
  ttl,
  data: authorities.map(name => [Buffer.from(`\x00\x05issue${name}`, 'latin1')]),
})

/** RFC 8482: the short response to ANY. */
export const anySet = (ttl: number): RecordSet => ({
  type: types.HINFO,
  ttl,
  data: [[Buffer.from('\x07RFC8482\x00', 'latin1')]],
})

/** Its TTL is the negative one: RFC 2308 uses the lesser of the two. */
export function soaSet({ primary, mailbox, serial, negativeTtl }: Soa): RecordSet {
  const numbers = Buffer.alloc(20)
  for (const [index, value] of [serial, REFRESH, RETRY, EXPIRE, negativeTtl].entries())
    numbers.writeUInt32BE(value, 4 * index)
  return { type: types.SOA, ttl: negativeTtl, data: [[primary, mailbox, numbers]] }
}

const ipv4Bytes = (address: string): Buffer => Buffer.from(address.split('.').map(Number))

function ipv6Bytes(address: string): Buffer {
  const bytes = Buffer.alloc(16)
  for (const [index, group] of (ipv6Groups(address) ?? []).entries()) bytes.writeUInt16BE(group, 2 * index)
  return bytes
}

function charStrings(text: string): Buffer {
  const bytes = Buffer.from(text)
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length || at === 0; at += MAX_TEXT) {
    const part = bytes.subarray(at, at + MAX_TEXT)
    parts.push(Buffer.from([part.length]), part)
  }
  return Buffer.concat(parts)
}
