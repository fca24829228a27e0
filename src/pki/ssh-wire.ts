import { refuse, type PkiCode } from '#pki/pki-error.ts'

/** Reads the data types of RFC 4251 §5. Every length is checked against the available data. */
export class WireReader {
  readonly #bytes: Buffer
  readonly #code: PkiCode
  #position = 0

  constructor(bytes: Buffer, code: PkiCode) {
    this.#bytes = bytes
    this.#code = code
  }

  get position(): number {
    return this.#position
  }

  get atEnd(): boolean {
    return this.#position === this.#bytes.length
  }

  /** The bytes read since an earlier position. */
  since(start: number): Buffer {
    return this.#bytes.subarray(start, this.#position)
  }

  uint32(): number {
    return this.#take(4).readUInt32BE()
  }

  uint64(): bigint {
    return this.#take(8).readBigUInt64BE()
  }

  bytes(): Buffer {
    return this.#take(this.uint32())
  }

  /** A string that must be UTF-8, because it is compared or shown. */
  text(): string {
    const bytes = this.bytes()
    const text = bytes.toString('utf8')
    if (!Buffer.from(text, 'utf8').equals(bytes))
      refuse(this.#code, 'The SSH data holds text that is not UTF-8.')
    return text
  }

  /** A positive number in canonical form: no superfluous zero bytes. */
  mpint(): Buffer {
    const bytes = this.bytes()
    const [first = 0, second = 0] = bytes
    const canonical = first === 0 ? bytes.length > 1 && second >= 0x80 : first < 0x80
    if (!canonical) refuse(this.#code, 'The SSH data holds a malformed number.')
    return first === 0 ? bytes.subarray(1) : bytes
  }

  end(): void {
    if (!this.atEnd) refuse(this.#code, 'The SSH data is followed by other bytes.')
  }

  #take(length: number): Buffer {
    const end = this.#position + length
    if (end > this.#bytes.length) refuse(this.#code, 'The SSH data is cut short.')
    const start = this.#position
    this.#position = end
    return this.#bytes.subarray(start, end)
  }
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function uint64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(value)
  return bytes
}

export function wireString(value: string | Buffer): Buffer {
  const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value
  return Buffer.concat([uint32(bytes.length), bytes])
}

/** A positive number given as big-endian bytes of any length. */
export function mpint(value: Buffer): Buffer {
  const start = value.findIndex(byte => byte !== 0)
  const digits = start < 0 ? Buffer.alloc(0) : value.subarray(start)
  const [first = 0] = digits
  return wireString(first >= 0x80 ? Buffer.concat([Buffer.of(0), digits]) : digits)
}
