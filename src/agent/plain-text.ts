const MAX_SHOWN = 2000

/** What a gateway sent, as text that can be shown: a terminal obeys control characters. */
export const plainText = (text: string): string =>
  text
    .slice(0, MAX_SHOWN)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
