import { isUtf8 } from 'node:buffer'

const NOTHING = Buffer.alloc(0)

/** Validates a text that arrives in chunks, which may end within a character. */
export class Utf8Check {
  /** The first bytes of an incomplete character. */
  #begun: Buffer = NOTHING

  /** False: not valid UTF-8 so far. */
  push(bytes: Buffer): boolean {
    const text = this.#begun.length === 0 ? bytes : Buffer.concat([this.#begun, bytes])
    const whole = text.length - begunBytes(text)
    // A copy, because the caller owns the bytes.
    this.#begun = whole === text.length ? NOTHING : Buffer.from(text.subarray(whole))
    return isUtf8(text.subarray(0, whole))
  }

  /** Whether the text may end here. */
  end(): boolean {
    const isWhole = this.#begun.length === 0
    this.#begun = NOTHING
    return isWhole
  }
}

/** How many bytes at the end begin an incomplete character. */
function begunBytes(text: Buffer): number {
  for (let back = 1; back <= Math.min(3, text.length); back++) {
    const byte = text[text.length - back] ?? 0
    if (byte >= 0xc0) return back < sizeOf(byte) ? back : 0
    if (byte < 0x80) return 0
  }
  return 0
}

const sizeOf = (first: number): number => (first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2)
