const UNITS = ['B', 'kB', 'MB', 'GB'] as const

export function byteSize(bytes: number): string {
  let value = bytes
  let at = 0
  for (; value >= 1000 && at < UNITS.length - 1; at++) value /= 1000
  return `${at === 0 ? value : value.toFixed(1)} ${UNITS[at] ?? ''}`
}

/** A number of things, whose name has a regular plural. */
export const counted = (count: number, name: string): string =>
  `${count.toLocaleString()} ${name}${count === 1 ? '' : 's'}`

/** A duration that is given in nanoseconds. */
export function duration(nanoseconds: number): string {
  const milliseconds = nanoseconds / 1_000_000
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`
  return milliseconds < 10_000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(1)} s`
}

interface Formatted {
  readonly text: string
  /** Why it is shown unformatted. */
  readonly problem?: string
}

/** Indents JSON and XML, and lists the fields of forms, by the media type. */
export function formatted(text: string, mediaType: string): Formatted {
  const type = (mediaType.split(';')[0] ?? '').trim().toLowerCase()
  if (type === 'application/x-www-form-urlencoded')
    return { text: [...new URLSearchParams(text)].map(([name, value]) => `${name} = ${value}`).join('\n') }
  if (/[/+]json$/.test(type) || (type === '' && /^\s*[[{]/.test(text))) return json(text)
  return /[/+]xml$/.test(type) ? { text: xml(text) } : { text }
}

function json(text: string): Formatted {
  try {
    return { text: JSON.stringify(JSON.parse(text), null, 2) }
  } catch (error) {
    return { text, problem: error instanceof Error ? `invalid JSON: ${error.message}` : 'invalid JSON' }
  }
}

/** One element per line, indented by depth; text stays beside its element. */
function xml(text: string): string {
  let depth = 0
  return text
    .replaceAll(/>\s+</g, '><')
    .replaceAll('><', '>\n<')
    .split('\n')
    .map(line => {
      if (line.startsWith('</')) depth = Math.max(0, depth - 1)
      const indented = '  '.repeat(depth) + line
      const opens = /^<[^!?/]/.test(line) && !line.endsWith('/>') && !line.includes('</')
      if (opens) depth++
      return indented
    })
    .join('\n')
}
