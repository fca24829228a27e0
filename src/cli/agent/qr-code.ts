/** Quiet zone; phones accept two modules, which leaves room on a terminal of 24 lines. */
const BORDER = 2
const HALVES = [' ', '▄', '▀', '█'] as const

export interface QrCode {
  readonly url: string
  readonly lines: readonly string[]
}

/** The QR code of a URL as lines of half blocks, each with two rows; blocks are the dark modules, or the light ones. */
export async function qrCode(url: string, blocksAreDark: boolean): Promise<QrCode> {
  // It makes large tables when it is loaded.
  const { encodeQR } = await import('qr')
  const rows = encodeQR(url, 'raw', { ecc: 'low', border: BORDER })
  const lines = rows
    .filter((_, at) => at % 2 === 0)
    .map((upper, pair) => {
      const lower = rows[2 * pair + 1] ?? upper.map(() => false)
      const isBlock = (isDark: boolean | undefined): boolean => isDark === blocksAreDark
      return upper
        .map((isDark, at) => HALVES[(isBlock(isDark) ? 2 : 0) + (isBlock(lower[at]) ? 1 : 0)])
        .join('')
    })
  return { url, lines }
}
