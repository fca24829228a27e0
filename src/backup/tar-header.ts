import { BackupError } from '#backup/backup-error.ts'

export const BLOCK = 512

export interface TarEntry {
  readonly name: string
  readonly size: number
}

// POSIX.1-1988 "ustar": fields of fixed width, numbers in octal. Any tar can list and unpack it.
const NAME_WIDTH = 100
const SIZE_AT = 124
const SIZE_WIDTH = 12
const SUM_AT = 148
const SUM_WIDTH = 8
/** What the octal field can hold; larger sizes are written in base 256, as GNU and BSD do. */
const MAX_OCTAL = 8 ** (SIZE_WIDTH - 1)

const octal = (value: number, width: number): string => `${value.toString(8).padStart(width - 1, '0')}\0`

export function tarHeader({ name, size }: TarEntry, modifiedAt: number): Buffer {
  const block = Buffer.alloc(BLOCK)
  const put = (text: string, at: number): number => block.write(text, at, 'latin1')
  put(name, 0)
  put(octal(0o600, 8), 100)
  put(octal(0, 8), 108)
  put(octal(0, 8), 116)
  if (size < MAX_OCTAL) put(octal(size, SIZE_WIDTH), SIZE_AT)
  else {
    block[SIZE_AT] = 0x80
    block.writeBigUInt64BE(BigInt(size), SIZE_AT + 4)
  }
  put(octal(Math.floor(modifiedAt / 1000), 12), 136)
  put('0', 156)
  put('ustar\x0000', 257)
  put(`${octal(checksum(block), 7)} `, SUM_AT)
  return block
}

/** Undefined at the end of the archive. */
export function readTarHeader(block: Buffer): TarEntry | undefined {
  if (block.every(byte => byte === 0)) return undefined
  const sum = Number.parseInt(textAt(block, SUM_AT, SUM_WIDTH), 8)
  const type = String.fromCharCode(block[156] ?? 0)
  if (sum !== checksum(block) || textAt(block, 257, 5) !== 'ustar') damaged()
  if (type !== '0') throw new BackupError('this backup has an entry that is not a file')
  return { name: textAt(block, 0, NAME_WIDTH), size: sizeIn(block) }
}

function sizeIn(block: Buffer): number {
  const isOctal = block[SIZE_AT] !== 0x80
  const size = isOctal
    ? Number.parseInt(textAt(block, SIZE_AT, SIZE_WIDTH), 8)
    : Number(block.readBigUInt64BE(SIZE_AT + 4))
  return Number.isSafeInteger(size) && size >= 0 ? size : damaged()
}

const textAt = (block: Buffer, at: number, width: number): string =>
  block
    .toString('latin1', at, at + width)
    .split('\0', 1)[0]
    ?.trim() ?? ''

/** The sum of all bytes, with the field of the sum itself taken as spaces. */
function checksum(block: Buffer): number {
  let sum = 0x20 * SUM_WIDTH
  block.forEach((byte, at) => (sum += at >= SUM_AT && at < SUM_AT + SUM_WIDTH ? 0 : byte))
  return sum
}

export function damaged(): never {
  throw new BackupError('this is not an Adit backup, or it is damaged')
}
