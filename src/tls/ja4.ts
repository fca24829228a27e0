import { createHash } from 'node:crypto'
import { ByteReader } from '#tls/client-hello.ts'

const RECORD_HEADER = 5
const MESSAGE_HEADER = 4
const SERVER_NAME = 0x0000
const SIGNATURE_ALGORITHMS = 0x000d
const ALPN = 0x0010
const SUPPORTED_VERSIONS = 0x002b
const MOST_COUNTED = 99
const NOTHING = '000000000000'

const versions: ReadonlyMap<number, string> = new Map([
  [0x0304, '13'],
  [0x0303, '12'],
  [0x0302, '11'],
  [0x0301, '10'],
  [0x0300, 's3'],
])

/** The input of the fingerprint; GREASE values (RFC 8701) are ignored. */
interface HelloFeatures {
  readonly version: number
  readonly ciphers: readonly number[]
  readonly extensions: ReadonlyMap<number, Buffer>
}

/**
 * JA4, the fingerprint of a TLS client: https://github.com/FoxIO-LLC/ja4/blob/main/technical_details/JA4.md. The bytes
 * are those of a ClientHello that was already parsed.
 */
export function ja4Of(bytes: Buffer): string {
  const { version, ciphers, extensions } = featuresIn(messageIn(bytes))
  const name = extensions.has(SERVER_NAME) ? 'd' : 'i'
  const counts = counted(ciphers.length) + counted(extensions.size)
  const first = `t${versions.get(version) ?? '00'}${name}${counts}${alpnMark(extensions.get(ALPN))}`
  return `${first}_${digest(sorted(ciphers))}_${digest(extensionsText(extensions))}`
}

/** The message without the record headers. */
function messageIn(bytes: Buffer): Buffer {
  const fragments: Buffer[] = []
  for (let at = 0; at + RECORD_HEADER <= bytes.length;) {
    const end = at + RECORD_HEADER + bytes.readUInt16BE(at + 3)
    fragments.push(bytes.subarray(at + RECORD_HEADER, end))
    at = end
  }
  const message = Buffer.concat(fragments)
  return message.subarray(MESSAGE_HEADER, MESSAGE_HEADER + message.readUIntBE(1, 3))
}

function featuresIn(message: Buffer): HelloFeatures {
  const reader = new ByteReader(message)
  const legacy = reader.number(2)
  reader.take(32)
  reader.field(1)
  const ciphers = numbersIn(reader.field(2))
  reader.field(1)
  const rest = new ByteReader(reader.empty ? Buffer.alloc(0) : reader.field(2))
  const extensions = new Map<number, Buffer>()
  while (!rest.empty) {
    const type = rest.number(2)
    const content = rest.field(2)
    if (!rest.broken && !isInvented(type)) extensions.set(type, content)
  }
  const offered = extensions.get(SUPPORTED_VERSIONS)
  const highest = offered && Math.max(0, ...numbersIn(new ByteReader(offered).field(1)))
  return { version: highest ?? legacy, ciphers, extensions }
}

/** The two-byte numbers of a list. */
function numbersIn(list: Buffer): number[] {
  const reader = new ByteReader(list)
  const numbers: number[] = []
  while (!reader.empty) numbers.push(reader.number(2))
  if (reader.broken) numbers.pop()
  return numbers.filter(number => !isInvented(number))
}

/** 0x0a0a, 0x1a1a and so on. */
const isInvented = (number: number): boolean =>
  (number & 0x0f0f) === 0x0a0a && number >> 8 === (number & 0xff)

const counted = (count: number): string => String(Math.min(count, MOST_COUNTED)).padStart(2, '0')

/** The first and last character of the preferred protocol. */
function alpnMark(content: Buffer | undefined): string {
  const name = content && new ByteReader(new ByteReader(content).field(2)).field(1)
  if (name === undefined || name.length === 0) return '00'
  const text = name.toString('latin1')
  const ends = text.charAt(0) + text.charAt(text.length - 1)
  if (/^[0-9A-Za-z]{2}$/.test(ends)) return ends
  const hex = name.toString('hex')
  return hex.charAt(0) + hex.charAt(hex.length - 1)
}

const hex = (number: number): string => number.toString(16).padStart(4, '0')
const sorted = (numbers: readonly number[]): string => numbers.map(hex).toSorted().join(',')

/** Name and protocol differ between services, so they are counted and not hashed; the order of algorithms stays. */
function extensionsText(extensions: ReadonlyMap<number, Buffer>): string {
  const types = [...extensions.keys()].filter(type => type !== SERVER_NAME && type !== ALPN)
  const algorithms = extensions.get(SIGNATURE_ALGORITHMS)
  const list = algorithms ? numbersIn(new ByteReader(algorithms).field(2)).map(hex).join(',') : ''
  return list === '' ? sorted(types) : `${sorted(types)}_${list}`
}

const digest = (text: string): string =>
  text === '' ? NOTHING : createHash('sha256').update(text).digest('hex').slice(0, NOTHING.length)
