import {
  type BrotliCompress,
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  type Deflate,
  deflateSync,
  type Gzip,
  gzipSync,
  type ZstdCompress,
  zstdCompressSync,
} from 'node:zlib'
import type { Coding } from '#http/compression/accept-encoding.ts'

export type CompressionStream = BrotliCompress | Deflate | Gzip | ZstdCompress

interface Method {
  /** `length` is the body length, if known. */
  create(length: number | undefined): CompressionStream
  /** What an engine may hold, in bytes. */
  readonly bytes: number
  /** Compresses a short body at once. */
  whole(bytes: Buffer): Buffer
  /** Flushes the data so far but keeps the dictionary. */
  readonly flush: number
}

const MEBIBYTE = 1024 * 1024

// Levels that save most at a speed near that of the link. The windows limit what one slow stream holds: half a megabyte
// with gzip and deflate, one and a half with zstd, two with br.
const deflate = { level: 5 }
const { BROTLI_PARAM_LGWIN, BROTLI_PARAM_QUALITY } = constants
const { ZSTD_c_compressionLevel, ZSTD_c_windowLog } = constants
const brotli = { [BROTLI_PARAM_QUALITY]: 4, [BROTLI_PARAM_LGWIN]: 18 }
const zstd = { [ZSTD_c_compressionLevel]: 3, [ZSTD_c_windowLog]: 18 }

/** Output chunk size: each chunk costs two thread switches, and memory that short bodies do not need. */
const pieces = (length = 0) => ({ chunkSize: length > 262_144 ? 65_536 : 16_384 })

export const methods: Readonly<Record<Coding, Method>> = {
  gzip: {
    bytes: MEBIBYTE / 2,
    create: length => createGzip({ ...deflate, ...pieces(length) }),
    whole: bytes => gzipSync(bytes, deflate),
    flush: constants.Z_SYNC_FLUSH,
  },
  // What HTTP calls deflate has the header of zlib (RFC 9110 §8.4.1.2).
  deflate: {
    bytes: MEBIBYTE / 2,
    create: length => createDeflate({ ...deflate, ...pieces(length) }),
    whole: bytes => deflateSync(bytes, deflate),
    flush: constants.Z_SYNC_FLUSH,
  },
  br: {
    bytes: 2 * MEBIBYTE,
    // The length is not passed: from a megabyte on it would use tables of four, and be slower for 4 % less.
    create: length => createBrotliCompress({ params: brotli, ...pieces(length) }),
    whole: bytes => brotliCompressSync(bytes, { params: brotli }),
    flush: constants.BROTLI_OPERATION_FLUSH,
  },
  zstd: {
    bytes: 1.5 * MEBIBYTE,
    create: length =>
      createZstdCompress({
        params: zstd,
        ...pieces(length),
        ...(length !== undefined && { pledgedSrcSize: length }),
      }),
    whole: bytes => zstdCompressSync(bytes, { params: zstd }),
    flush: constants.ZSTD_e_flush,
  },
}
