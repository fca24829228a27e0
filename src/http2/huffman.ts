import { codeLengths } from '#http2/huffman-lengths.ts'

const END = 256
const NIBBLES = 16
const NO_BYTE = 0x100
const INVALID = 0xffff_ffff

interface Code {
  readonly bits: number
  readonly length: number
}

function canonicalCodes(): Code[] {
  const symbols = codeLengths.map((length, symbol) => ({ length, symbol }))
  symbols.sort((one, other) => one.length - other.length || one.symbol - other.symbol)
  const codes: Code[] = []
  let bits = 0
  let before = 0
  for (const { length, symbol } of symbols) {
    bits *= 2 ** (length - before)
    codes[symbol] = { bits, length }
    bits++
    before = length
  }
  return codes
}

/** An inner node of the code tree: for each bit the next node, or the symbol that is complete. */
interface Node {
  readonly index: number
  readonly next: [Node | number | undefined, Node | number | undefined]
  /** It is reached from the root by ones only, at most seven: what remains there is padding. */
  readonly mayEnd: boolean
}

function buildTree(codes: readonly Code[]): Node[] {
  const root: Node = { index: 0, next: [undefined, undefined], mayEnd: true }
  const nodes = [root]
  for (const [symbol, { bits, length }] of codes.entries()) {
    let node = root
    let isOnes = true
    for (let left = length - 1; left > 0; left--) {
      const bit = Math.floor(bits / 2 ** left) % 2 === 1 ? 1 : 0
      isOnes &&= bit === 1
      let child = node.next[bit]
      if (typeof child !== 'object') {
        child = { index: nodes.length, next: [undefined, undefined], mayEnd: isOnes && length - left < 8 }
        nodes.push(child)
        node.next[bit] = child
      }
      node = child
    }
    node.next[bits % 2 === 1 ? 1 : 0] = symbol
  }
  return nodes
}

/** One step: from a node by four bits to another, which completes at most one byte, because no code is shorter. */
function step(from: Node, nibble: number, nodes: readonly Node[]): number {
  let node = from
  let byte = NO_BYTE
  for (let left = 3; left >= 0; left--) {
    const found = node.next[((nibble >> left) & 1) as 0 | 1]
    if (found === undefined || found === END) return INVALID
    if (typeof found === 'number') byte = found
    node = typeof found === 'number' ? (nodes[0] as Node) : found
  }
  return (node.index << 9) | byte
}

const codes = canonicalCodes()
const tree = buildTree(codes)
const steps = Uint32Array.from({ length: tree.length * NIBBLES }, (_, at) =>
  step(tree[Math.floor(at / NIBBLES)] as Node, at % NIBBLES, tree),
)
const mayEnd = Uint8Array.from(tree, node => (node.mayEnd ? 1 : 0))
const codeBits = Uint32Array.from(codes, code => code.bits)
const codeSizes = Uint8Array.from(codes, code => code.length)

// The shortest code has five bits, and no header block is longer than this.
let decoded = Buffer.allocUnsafeSlow(65_536)

/** Decodes the bytes from `from` to `to` as latin1; undefined when they are invalid. */
export function huffmanText(bytes: Buffer, from: number, to: number): string | undefined {
  const most = (to - from) * 2
  if (most > decoded.length) decoded = Buffer.allocUnsafeSlow(most)
  let node = 0
  let length = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at] ?? 0
    const high = steps[(node << 4) | (byte >> 4)] ?? INVALID
    if (high === INVALID) return undefined
    if ((high & NO_BYTE) === 0) decoded[length++] = high & 0xff
    const low = steps[((high >>> 9) << 4) | (byte & 15)] ?? INVALID
    if (low === INVALID) return undefined
    if ((low & NO_BYTE) === 0) decoded[length++] = low & 0xff
    node = low >>> 9
  }
  return mayEnd[node] === 1 ? decoded.toString('latin1', 0, length) : undefined
}

/** Bytes of the encoded form of a latin1 text. */
export function huffmanLength(text: string): number {
  let bits = 0
  for (let at = 0; at < text.length; at++) bits += codeSizes[text.charCodeAt(at) & 0xff] ?? 0
  return (bits + 7) >> 3
}

/** Encodes a latin1 text to `at`, and returns the position after it. */
export function writeHuffman(text: string, into: Buffer, at: number): number {
  let pending = 0
  let count = 0
  for (let index = 0; index < text.length; index++) {
    const symbol = text.charCodeAt(index) & 0xff
    let left = codeSizes[symbol] ?? 0
    const bits = codeBits[symbol] ?? 0
    // A code has up to 30 bits, and up to 7 are pending: they are added in parts that fit into 32.
    while (left > 0) {
      const taken = Math.min(left, 16)
      left -= taken
      pending = (pending << taken) | ((bits >>> left) & ((1 << taken) - 1))
      count += taken
      while (count >= 8) {
        count -= 8
        into[at++] = (pending >>> count) & 0xff
      }
      pending &= (1 << count) - 1
    }
  }
  if (count > 0) into[at++] = ((pending << (8 - count)) | ((1 << (8 - count)) - 1)) & 0xff
  return at
}
