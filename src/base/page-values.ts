import { readFileSync, statSync } from 'node:fs'
import { parseRange, type Range } from '#base/addresses.ts'
import { networks, SettingError } from '#base/setting-values.ts'

/** Parsers for the settings of the gateway's pages; each throws with the words that follow "must be". */

/** An image that is part of each page. */
interface PageLogo {
  readonly type: string
  readonly base64: string
}

// Part of every page, and a third longer there.
const MAX_LOGO_KIB = 32
const MAX_NAME = 64

function refuse(what: string): never {
  throw new SettingError(what)
}

const everyAddress = ['0.0.0.0/0', '::/0'].flatMap(text => parseRange(text) ?? [])

/** The networks whose clients see hints: all, none, or those listed. */
export function hintNetworks(value: string): readonly Range[] {
  if (value === 'on') return everyAddress
  if (value === 'off') return []
  const listed = value.includes('/') ? networks(value) : []
  return listed.length > 0 ? listed : refuse('on, off, or comma-separated networks, such as 10.0.0.0/8')
}

export function pageName(value: string): string {
  const isPlain = value.trim() !== '' && value.length <= MAX_NAME && !/[\p{C}\p{Zl}\p{Zp}]/u.test(value)
  return isPlain ? value.trim() : refuse(`1 to ${MAX_NAME} printable characters`)
}

/** A colour in the hexadecimal form of CSS, as `#rrggbb`. */
export function colour(value: string): string {
  const [, short, long] = /^#(?:([0-9a-f]{3})|([0-9a-f]{6}))$/i.exec(value) ?? []
  if (short !== undefined) return `#${short.replaceAll(/./g, '$&$&')}`.toLowerCase()
  return long === undefined
    ? refuse('a colour such as "#0b6bcb", in quotes in a YAML file')
    : value.toLowerCase()
}

/** Reads the file once, at the start: worker processes get the image, not its path. */
export function logo(path: string): PageLogo {
  const bytes = bytesOf(path)
  const type = typeOf(bytes)
  return type === undefined || bytes.length > MAX_LOGO_KIB * 1024
    ? refuse(`a PNG, JPEG, WebP or SVG file of at most ${MAX_LOGO_KIB} KiB`)
    : { type, base64: bytes.toString('base64') }
}

function bytesOf(path: string): Buffer {
  try {
    const { size } = statSync(path)
    return size > MAX_LOGO_KIB * 1024 ? Buffer.alloc(0) : readFileSync(path)
  } catch (error) {
    return refuse(`a readable file: ${error instanceof Error ? error.message : 'unknown'}`)
  }
}

/** By content, not by the name of the file. Browsers run no scripts in an SVG image. */
function typeOf(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 512)
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (start.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (start.startsWith('RIFF') && start.slice(8, 12) === 'WEBP') return 'image/webp'
  return /^(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--[^>]*-->\s*)*<svg[\s>]/.test(start)
    ? 'image/svg+xml'
    : undefined
}
