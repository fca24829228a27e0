import { createHash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { BLOCK, damaged, readTarHeader, tarHeader, type TarEntry } from '#backup/tar-header.ts'

const CHUNK = 1_048_576
/** Texts in an archive are small; a larger one is not ours. */
const MAX_TEXT = 65_536

/** What was put into an archive. */
export interface ArchivedFile extends TarEntry {
  readonly sha256: string
}

const padding = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK

/** Writes files one after another as a tar. */
export class ArchiveWriter {
  readonly #file: number
  readonly #at: number

  constructor(file: number, at: number) {
    this.#file = file
    this.#at = at
  }

  addFile(name: string, path: string): ArchivedFile {
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      writeAll(this.#file, tarHeader({ name, size }, this.#at))
      const sha256 = copyBytes(file, this.#file, size)
      this.#pad(size)
      return { name, size, sha256 }
    } finally {
      closeSync(file)
    }
  }

  addText(name: string, text: string): void {
    const bytes = Buffer.from(text)
    writeAll(this.#file, tarHeader({ name, size: bytes.length }, this.#at))
    writeAll(this.#file, bytes)
    this.#pad(bytes.length)
  }

  /** Two empty blocks are the end of a tar. */
  finish(): void {
    writeAll(this.#file, Buffer.alloc(2 * BLOCK))
  }

  #pad(size: number): void {
    writeAll(this.#file, Buffer.alloc(padding(size)))
  }
}

/** Reads an archive in its order. After `next`, the content is taken exactly once. */
export class ArchiveReader {
  readonly #file: number
  readonly #block = Buffer.alloc(BLOCK)

  constructor(file: number) {
    this.#file = file
  }

  next(): TarEntry | undefined {
    readAll(this.#file, this.#block)
    return readTarHeader(this.#block)
  }

  copyTo(target: number, { name, size }: TarEntry): ArchivedFile {
    const sha256 = copyBytes(this.#file, target, size)
    this.#skip(size)
    return { name, size, sha256 }
  }

  text({ size }: TarEntry): string {
    if (size > MAX_TEXT) damaged()
    const bytes = Buffer.alloc(size)
    readAll(this.#file, bytes)
    this.#skip(size)
    return bytes.toString()
  }

  #skip(size: number): void {
    readAll(this.#file, this.#block.subarray(0, padding(size)))
  }
}

/** Copies that many bytes; returns their SHA-256. */
function copyBytes(source: number, target: number, size: number): string {
  const hash = createHash('sha256')
  const buffer = Buffer.allocUnsafe(Math.min(CHUNK, size))
  for (let left = size; left > 0;) {
    const part = buffer.subarray(0, Math.min(left, buffer.length))
    readAll(source, part)
    hash.update(part)
    writeAll(target, part)
    left -= part.length
  }
  return hash.digest('hex')
}

function readAll(file: number, into: Buffer): void {
  for (let have = 0; have < into.length;) {
    const read = readSync(file, into, have, into.length - have, null)
    if (read === 0) damaged()
    have += read
  }
}

function writeAll(file: number, bytes: Buffer): void {
  for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done)
}
