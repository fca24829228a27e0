/** One DER value: its tag, and its bytes. */
interface Value {
  readonly tag: number
  readonly content: Buffer
}

const SEQUENCE = 0x30
const BOOLEAN = 0x01
const OCTETS = 0x04
const EXTENSIONS = 0xa3

const KEY_USAGE = '551d0f'
const BASIC_CONSTRAINTS = '551d13'

/** The consecutive values of these bytes; stops at invalid DER. OpenSSL has parsed them before. */
function* valuesIn(bytes: Buffer): Generator<Value> {
  let at = 0
  while (at + 2 <= bytes.length) {
    const [tag = 0, first = 0] = bytes.subarray(at, at + 2)
    const lengthBytes = first < 0x80 ? 0 : first & 0x7f
    const start = at + 2 + lengthBytes
    if (lengthBytes > 4 || start > bytes.length) return
    const length = lengthBytes === 0 ? first : bytes.readUIntBE(at + 2, lengthBytes)
    if (start + length > bytes.length) return
    yield { tag, content: bytes.subarray(start, start + length) }
    at = start + length
  }
}

const childOf = (bytes: Buffer, tag: number): Buffer =>
  [...valuesIn(bytes)].find(value => value.tag === tag)?.content ?? Buffer.alloc(0)

/** The content of an extension of a certificate, by its object identifier; undefined when it has none. */
function extension(certificate: Buffer, identifier: string): Buffer | undefined {
  const signed = childOf(childOf(certificate, SEQUENCE), SEQUENCE)
  const list = childOf(childOf(signed, EXTENSIONS), SEQUENCE)
  for (const { content } of valuesIn(list)) {
    const [name] = valuesIn(content)
    if (name?.content.toString('hex') === identifier) return childOf(content, OCTETS)
  }
  return undefined
}

/** The key usage bits, first one first; empty without a key usage. */
export function keyUsageBits(certificate: Buffer): readonly boolean[] {
  const content = extension(certificate, KEY_USAGE)
  const [bits] = content === undefined ? [] : valuesIn(content)
  // The first byte is the number of unused bits in the last; they are zero.
  return [...(bits?.content.subarray(1) ?? [])].flatMap(byte =>
    Array.from({ length: 8 }, (_, bit) => (byte & (0x80 >> bit)) !== 0),
  )
}

/** Whether the basic constraints are those of a CA. Node's `ca` also checks the key usages and so misses real ones. */
export function isAuthority(certificate: Buffer): boolean {
  const content = extension(certificate, BASIC_CONSTRAINTS)
  if (content === undefined) return false
  const [byte = 0] = childOf(childOf(content, SEQUENCE), BOOLEAN)
  return byte !== 0
}
