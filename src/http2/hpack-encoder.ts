import { type HpackName, nameOf, staticIndexOf } from '#http2/hpack-name.ts'
import { huffmanLength, writeHuffman } from '#http2/huffman.ts'
import { staticTable } from '#http2/static-table.ts'

const TABLE_SIZE = 4096
const ENTRY_OVERHEAD = 32
const FIRST_DYNAMIC = staticTable.length + 1
/** A longer value is seldom repeated, and would displace many others. */
const MAX_INDEXED = 512

/** A field whose value will not be repeated on the connection. */
export interface UniqueField {
  readonly name: string
  readonly value: string
}

const staticStatuses = new Map<number, number>()
/** Lines of pseudo-header fields. */
const staticLines = new Map<string, number>()
for (const [at, [name, value]] of staticTable.entries())
  if (name === ':status') staticStatuses.set(Number(value), at + 1)
  else if (name.startsWith(':')) staticLines.set(`${name}: ${value}`, at + 1)
const STATUS = staticIndexOf(':status')
const CONTENT_LENGTH = staticIndexOf('content-length')

const sizeOf = (unique: UniqueField | undefined): number =>
  unique === undefined ? 0 : unique.name.length + unique.value.length

/** Without the blanks around it; `trim` removes more, which is part of a value. */
function trimmed(line: string, from: number): string {
  let to = line.length
  while (from < to && isBlank(line.charCodeAt(from))) from++
  while (to > from && isBlank(line.charCodeAt(to - 1))) to--
  return line.slice(from, to)
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09

/** The pseudo-header fields of a request. */
export interface RequestPseudoFields {
  readonly method: string
  readonly scheme: string
  readonly authority: string
  readonly path: string
}

interface Entry {
  readonly line: string
  readonly size: number
}

/** A response head that has changed nothing in the table: until something else does, its block is the same. */
interface KeptBlock {
  readonly status: number
  readonly length: number | undefined
  readonly lines: string
  readonly bytes: Buffer
}

/** The result of the last call of any encoder: valid until the next one. */
let output = Buffer.allocUnsafeSlow(16_384)

/** Encodes header blocks. Lines are looked up in the table as they are written, so a repeated one costs a single lookup. */
export class HpackEncoder {
  /** The number of each line in order of insertion. */
  readonly #numbers = new Map<string, number>()
  #entries: Entry[] = []
  #inserted = 0
  #tableSize = 0
  #maxSize = TABLE_SIZE
  #announcedSize: number | undefined
  #kept: KeptBlock | undefined
  #lastLines = ''
  #at = 0

  /** The peer has limited the table. */
  limitTable(size: number): void {
    const wanted = Math.min(size, TABLE_SIZE)
    if (wanted === this.#maxSize && this.#announcedSize === undefined) return
    // If it changed more than once, the smallest has to be announced too: then the table is simply cleared.
    this.#announcedSize = wanted
    this.#maxSize = wanted
    this.#kept = undefined
    this.#evict(this.#tableSize)
  }

  /**
   * A block of a response head: status, length, the lines `Name: value\r\n`, then `unique`. A status of 0: trailers. The
   * result is valid until the next call.
   */
  encode(status: number, length: number | undefined, lines: string, unique?: UniqueField): Buffer {
    this.#begin(lines.length + sizeOf(unique))
    const kept = this.#kept
    if (kept?.lines === lines && kept.status === status && kept.length === length)
      this.#at += kept.bytes.copy(output, this.#at)
    else this.#encodeAndKeep(status, length, lines)
    return this.#end(unique)
  }

  /** As `encode`, for the head of a request. */
  encodeRequest(
    { method, scheme, authority, path }: RequestPseudoFields,
    length: number | undefined,
    lines: string,
    unique?: UniqueField,
  ): Buffer {
    this.#begin(method.length + authority.length + path.length + lines.length + sizeOf(unique))
    this.#pseudo(':method', method, true)
    this.#pseudo(':scheme', scheme, true)
    this.#pseudo(':authority', authority, true)
    // A query is seldom repeated, and would displace other entries.
    this.#pseudo(':path', path, !path.includes('?'))
    this.#fields(length, lines)
    return this.#end(unique)
  }

  /** Lines that appear for the second time probably appear often. */
  #encodeAndKeep(status: number, length: number | undefined, lines: string): void {
    const from = this.#at
    const inserted = this.#inserted
    if (status > 0) this.#status(status)
    this.#fields(length, lines)
    if (this.#inserted === inserted && this.#lastLines === lines) {
      const bytes = Buffer.allocUnsafeSlow(this.#at - from)
      output.copy(bytes, 0, from, this.#at)
      this.#kept = { status, length, lines, bytes }
    }
    this.#lastLines = lines
  }

  #begin(textBytes: number): void {
    this.#reserve(textBytes)
    this.#at = 0
    this.#announceSize()
  }

  #end(unique: UniqueField | undefined): Buffer {
    if (unique !== undefined) this.#field('', nameOf(unique.name), unique.value, false)
    return output.subarray(0, this.#at)
  }

  #fields(length: number | undefined, lines: string): void {
    if (length !== undefined) this.#named(0, CONTENT_LENGTH, 0x0f, String(length))
    this.#lines(lines)
  }

  #pseudo(name: string, value: string, mayRepeat: boolean): void {
    const line = `${name}: ${value}`
    const index = staticLines.get(line)
    if (index !== undefined) this.#integer(0x80, 0x7f, index)
    else if (!mayRepeat || !this.#repeats(line)) this.#field(line, nameOf(name), value, mayRepeat)
  }

  #lines(lines: string): void {
    for (let from = 0; from < lines.length;) {
      const end = lines.indexOf('\r\n', from)
      const to = end < 0 ? lines.length : end
      this.#line(lines.slice(from, to))
      from = to + 2
    }
  }

  /** A text grows by at most a few bytes for its length: it is only coded where that makes it shorter. */
  #reserve(bytes: number): void {
    const most = 2 * bytes + 256
    if (most > output.length) output = Buffer.allocUnsafeSlow(2 * most)
  }

  #announceSize(): void {
    if (this.#announcedSize === undefined) return
    this.#integer(0x20, 0x1f, 0)
    this.#integer(0x20, 0x1f, this.#announcedSize)
    this.#announcedSize = undefined
  }

  #status(status: number): void {
    const index = staticStatuses.get(status)
    if (index !== undefined) this.#integer(0x80, 0x7f, index)
    else this.#named(0, STATUS, 0x0f, String(status))
  }

  #line(line: string): void {
    if (this.#repeats(line)) return
    const colon = line.indexOf(':')
    if (colon <= 0) return
    const name = nameOf(line.slice(0, colon))
    if (name.representation !== 'absent') this.#field(line, name, trimmed(line, colon + 1), true)
  }

  /** Refers to the entry of a line that is in the table; false: it is not. */
  #repeats(line: string): boolean {
    const number = this.#numbers.get(line)
    if (number === undefined) return false
    this.#integer(0x80, 0x7f, FIRST_DYNAMIC + this.#inserted - 1 - number)
    return true
  }

  #field(line: string, name: HpackName, value: string, mayRepeat: boolean): void {
    const size = name.text.length + value.length + ENTRY_OVERHEAD
    const isIndexed = mayRepeat && name.representation === 'indexed'
    if (isIndexed && value.length <= MAX_INDEXED && size <= this.#maxSize) {
      this.#name(0x40, 0x3f, name)
      this.#text(value)
      this.#add(line, size)
    } else {
      this.#name(name.representation === 'never' ? 0x10 : 0, 0x0f, name)
      if (mayRepeat) this.#text(value)
      else this.#plain(value)
    }
  }

  #name(bits: number, mask: number, name: HpackName): void {
    this.#integer(bits, mask, name.index)
    if (name.index > 0) return
    if (name.coded !== undefined) {
      this.#at += name.coded.copy(output, this.#at)
      return
    }
    const from = this.#at
    this.#text(name.text)
    name.coded = Buffer.from(output.subarray(from, this.#at))
  }

  #named(bits: number, index: number, mask: number, value: string): void {
    this.#integer(bits, mask, index)
    this.#text(value)
  }

  #integer(bits: number, mask: number, value: number): void {
    if (value < mask) {
      output[this.#at++] = bits | value
      return
    }
    output[this.#at++] = bits | mask
    let rest = value - mask
    for (; rest >= 128; rest = Math.floor(rest / 128)) output[this.#at++] = (rest & 0x7f) | 0x80
    output[this.#at++] = rest
  }

  #text(text: string): void {
    const coded = huffmanLength(text)
    if (coded < text.length) {
      this.#integer(0x80, 0x7f, coded)
      this.#at = writeHuffman(text, output, this.#at)
    } else {
      this.#plain(text)
    }
  }

  #plain(text: string): void {
    this.#integer(0, 0x7f, text.length)
    this.#at += output.write(text, this.#at, 'latin1')
  }

  #add(part: string, size: number): void {
    // A part of a text would keep all of it in memory.
    const line = Buffer.from(part, 'latin1').toString('latin1')
    this.#kept = undefined
    this.#evict(this.#tableSize + size - this.#maxSize)
    this.#entries.push({ line, size })
    this.#numbers.set(line, this.#inserted++)
    this.#tableSize += size
  }

  /** Evicts the oldest entries, of at least that many bytes. */
  #evict(bytes: number): void {
    let count = 0
    for (let freed = 0; freed < bytes && count < this.#entries.length; count++) {
      const entry = this.#entries[count]
      if (entry === undefined) break
      freed += entry.size
      this.#tableSize -= entry.size
      this.#numbers.delete(entry.line)
    }
    if (count > 0) this.#entries.splice(0, count)
  }
}
