import { encodeQR } from 'qr'

/** Quiet zone; phones accept two modules, which leaves room on a terminal of 24 lines. */
const BORDER = 2
const HALVES = [' ', '▄', '▀', '█'] as const

/** A QR code as lines of half blocks, each with two rows; blocks are the dark modules, or the light ones. */
export function qrLines(text: string, blocksAreDark: boolean): string[] {
  const rows = encodeQR(text, 'raw', { ecc: 'low', border: BORDER })
  return rows
    .filter((_, at) => at % 2 === 0)
    .map((upper, pair) => {
      const lower = rows[2 * pair + 1] ?? upper.map(() => false)
      const isBlock = (isDark: boolean | undefined): boolean => isDark === blocksAreDark
      return upper
        .map((isDark, at) => HALVES[(isBlock(isDark) ? 2 : 0) + (isBlock(lower[at]) ? 1 : 0)])
        .join('')
    })
}
