export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at)
  return bytes
}

const SLICE = 32_768

export function toBase64(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += SLICE)
    binary += String.fromCharCode(...bytes.subarray(at, at + SLICE))
  return btoa(binary)
}

/** The bytes as UTF-8; undefined when they are not text. */
export function asText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    // oxlint-disable-next-line no-control-regex -- these are what is looked for
    return /[\u0000-\u0008\u000e-\u001a]/.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** A hex dump with 16 bytes per line. */
export function hexDump(bytes: Uint8Array, limit = 65_536): string {
  const lines: string[] = []
  for (let at = 0; at < Math.min(bytes.length, limit); at += 16) {
    const row = [...bytes.subarray(at, at + 16)]
    const hex = row.map(byte => byte.toString(16).padStart(2, '0')).join(' ')
    const text = row.map(byte => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.')).join('')
    lines.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${text}`)
  }
  return bytes.length > limit
    ? [...lines, `… ${bytes.length - limit} more bytes`].join('\n')
    : lines.join('\n')
}
