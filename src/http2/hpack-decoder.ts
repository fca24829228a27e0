import { HeaderField } from '#http2/header-field.ts'
import { huffmanText } from '#http2/huffman.ts'
import { COMPRESSION_ERROR, ConnectionFault } from '#http2/protocol.ts'
import { staticTable } from '#http2/static-table.ts'

/** The size of the table that every peer may use, without a setting. */
const TABLE_SIZE = 4096
/** An integer of more bytes than this cannot be the length of anything here. */
const MAX_INTEGER_BYTES = 4
/** A block may begin with two changes of the table size (RFC 7541 §4.2). */
const MAX_SIZE_UPDATES = 2

const staticFields = staticTable.map(([name, value]) => new HeaderField(name, value))
const FIRST_DYNAMIC = staticFields.length + 1

interface DecoderLimits {
  /** Bytes of a decoded list, by the measure of RFC 9113 §6.5.2. */
  readonly listBytes: number
  readonly fields: number
}

const fault = (reason: string): ConnectionFault => new ConnectionFault(COMPRESSION_ERROR, reason)

/** Decodes header blocks (RFC 7541). An error in a block ends the connection, because its table is lost. */
export class HpackDecoder {
  readonly #limits: DecoderLimits
  /** The newest is the last. */
  #table: HeaderField[] = []
  #tableSize = 0
  #maxSize = TABLE_SIZE
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0
  #end = 0

  constructor(limits: DecoderLimits) {
    this.#limits = limits
  }

  /**
   * The fields of a block; undefined if they exceed the limits. The whole block is decoded even then, because the
   * following ones refer to its entries.
   */
  decode(bytes: Buffer, from: number, to: number): HeaderField[] | undefined {
    this.#bytes = bytes
    this.#at = from
    this.#end = to
    this.#changeSize()
    let fields: HeaderField[] | undefined = []
    let left = this.#limits.listBytes
    while (this.#at < to) {
      const field = this.#next()
      left -= field.size
      if (left < 0 || (fields !== undefined && fields.length >= this.#limits.fields)) fields = undefined
      fields?.push(field)
    }
    return fields
  }

  #next(): HeaderField {
    const first = this.#bytes[this.#at] ?? 0
    if (first >= 0x80) return this.#entry(this.#integer(0x7f))
    if (first >= 0x40) {
      const field = this.#literal(0x3f)
      this.#add(field)
      return field
    }
    if (first >= 0x20) throw fault('the table size changes within a header block')
    return this.#literal(0x0f)
  }

  #changeSize(): void {
    for (let count = 0; this.#at < this.#end && ((this.#bytes[this.#at] ?? 0) & 0xe0) === 0x20; count++) {
      const size = this.#integer(0x1f)
      if (size > TABLE_SIZE) throw fault('the table size exceeds the limit')
      if (count >= MAX_SIZE_UPDATES) throw fault('the table size changes too often')
      this.#maxSize = size
      this.#evict(0)
    }
  }

  #literal(mask: number): HeaderField {
    const index = this.#integer(mask)
    const name = index === 0 ? this.#text() : this.#entry(index).name
    return new HeaderField(name, this.#text())
  }

  #entry(index: number): HeaderField {
    const found =
      index < FIRST_DYNAMIC
        ? staticFields[index - 1]
        : this.#table[this.#table.length - 1 - (index - FIRST_DYNAMIC)]
    if (found === undefined) throw fault('a header block refers to an entry that does not exist')
    return found
  }

  #text(): string {
    if (this.#at >= this.#end) throw fault('a header block ends within a field')
    const isCoded = (this.#bytes[this.#at] ?? 0) >= 0x80
    const length = this.#integer(0x7f)
    const from = this.#at
    const to = from + length
    if (to > this.#end) throw fault('a header block ends within a text')
    this.#at = to
    if (!isCoded) return this.#bytes.toString('latin1', from, to)
    const text = huffmanText(this.#bytes, from, to)
    if (text === undefined) throw fault('a text is not valid in the code of Huffman')
    return text
  }

  #integer(mask: number): number {
    let value = (this.#bytes[this.#at++] ?? 0) & mask
    if (value < mask) return value
    for (let count = 0, scale = 1; count < MAX_INTEGER_BYTES; count++, scale *= 128) {
      if (this.#at >= this.#end) break
      const byte = this.#bytes[this.#at++] ?? 0
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
    }
    throw fault('an integer is not valid')
  }

  #add(field: HeaderField): void {
    const { size } = field
    this.#evict(size)
    if (size > this.#maxSize) return
    this.#table.push(field)
    this.#tableSize += size
  }

  #evict(needed: number): void {
    let count = 0
    while (this.#tableSize + needed > this.#maxSize && count < this.#table.length)
      this.#tableSize -= this.#table[count++]?.size ?? 0
    if (count > 0) this.#table.splice(0, count)
  }
}
