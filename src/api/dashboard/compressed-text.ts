import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

type ContentEncoding = 'br' | 'gzip' | 'identity'

const asBrotli = promisify(brotliCompress)
const asGzip = promisify(gzip)

const compress: Readonly<Record<ContentEncoding, (plain: Buffer) => Promise<Buffer>>> = {
  br: plain =>
    asBrotli(plain, { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }),
  gzip: plain => asGzip(plain, { level: constants.Z_BEST_COMPRESSION }),
  identity: async plain => plain,
}

/** Only browsers load the files: they name what they accept, without weights. */
export const encodingFor = (accepted = ''): ContentEncoding =>
  /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : 'identity'

/** A text in every encoding. The best compression takes long, so each encoding is made once, when it is first needed. */
export class CompressedText {
  readonly #plain: Buffer
  readonly #made = new Map<ContentEncoding, Promise<Buffer>>()

  constructor(text: string) {
    this.#plain = Buffer.from(text)
  }

  as(encoding: ContentEncoding): Promise<Buffer> {
    const made = this.#made.get(encoding) ?? compress[encoding](this.#plain)
    this.#made.set(encoding, made)
    return made
  }
}
