type Rgb = readonly [red: number, green: number, blue: number]

const BLACK: Rgb = [0, 0, 0]
const WHITE: Rgb = [255, 255, 255]
/** WCAG 2.2, 1.4.3: the least contrast of text. */
const MIN_CONTRAST = 4.5
const MAX_DARK_LUMINANCE = 0.03
const STEPS = 20

/** The nearest colour to the given one that is readable as text on the ground; all are `#rrggbb`. */
export function readableOn(ground: string, colour: string): string {
  const behind = rgbOf(ground)
  const extreme = contrast(WHITE, behind) > contrast(BLACK, behind) ? WHITE : BLACK
  return hexOf(firstOf(rgbOf(colour), extreme, mixed => contrast(mixed, behind) >= MIN_CONTRAST))
}

/** The colour for dark mode: the same, as dark as the rest of the page. */
export const darkened = (colour: string): string =>
  hexOf(firstOf(rgbOf(colour), BLACK, mixed => luminance(mixed) <= MAX_DARK_LUMINANCE))

/** The first of the steps towards a colour that fits. */
function firstOf(from: Rgb, to: Rgb, fits: (mixed: Rgb) => boolean): Rgb {
  for (let step = 0; step < STEPS; step++) {
    const mixed = from.map((part, at) => part + (((to[at] ?? 0) - part) * step) / STEPS)
    const rounded = mixed.map(Math.round) as unknown as Rgb
    if (fits(rounded)) return rounded
  }
  return to
}

const rgbOf = (hex: string): Rgb =>
  [1, 3, 5].map(at => Number.parseInt(hex.slice(at, at + 2), 16)) as unknown as Rgb

const hexOf = (rgb: Rgb): string => `#${rgb.map(part => part.toString(16).padStart(2, '0')).join('')}`

/** Relative luminance, as WCAG defines it. */
function luminance(rgb: Rgb): number {
  const [red = 0, green = 0, blue = 0] = rgb.map(part => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function contrast(one: Rgb, other: Rgb): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].toSorted((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}
