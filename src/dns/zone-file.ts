import { canonicalAddress } from '#base/addresses.ts'
import { types } from '#dns/message.ts'
import type { RecordData } from '#dns/records.ts'

const names = new Map<number, string>(Object.entries(types).map(([name, type]) => [type, name]))

/** RFC 3597 §5 for a type without a name. */
export const typeName = (type: number): string => names.get(type) ?? `TYPE${type}`

/** The data of a record as a zone file has it (RFC 1035 §5.1), with names that need no dot at their end. */
export function valueText(type: number, data: RecordData): string {
  const bytes = data.find(part => typeof part !== 'string') ?? Buffer.alloc(0)
  switch (type) {
    case types.A:
      return bytes.join('.')
    case types.AAAA:
      return ipv6Text(bytes)
    case types.TXT:
      return charStrings(bytes).map(quoted).join(' ')
    case types.CAA: {
      const [flags = 0, length = 0] = bytes
      const [tag, value] = [bytes.subarray(2, 2 + length), bytes.subarray(2 + length)]
      return `${flags} ${tag.toString('latin1')} ${quoted(value.toString('latin1'))}`
    }
    default:
      return [...data.filter(part => typeof part === 'string'), ...numbers(bytes)].join(' ')
  }
}

function ipv6Text(bytes: Buffer): string {
  const groups = Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(2 * at).toString(16)).join(':')
  return canonicalAddress(groups) ?? groups
}

function charStrings(bytes: Buffer): string[] {
  const texts = []
  for (let at = 0; at < bytes.length; at += 1 + (bytes[at] ?? 0))
    texts.push(bytes.toString('utf8', at + 1, at + 1 + (bytes[at] ?? 0)))
  return texts
}

const quoted = (text: string): string => `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`

/** Those of a SOA record. */
const numbers = (bytes: Buffer): number[] =>
  Array.from({ length: bytes.length / 4 }, (_, at) => bytes.readUInt32BE(4 * at))
