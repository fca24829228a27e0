const MAX_SHOWN = 2000

/** Gateway text that is safe to show: a terminal interprets control characters. */
export const plainText = (text: string): string =>
  text
    .slice(0, MAX_SHOWN)
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
