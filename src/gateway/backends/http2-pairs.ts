import { isOfConnection } from '#http/http2/fields.ts'

/** Appends the lines to a list of names and values, as node takes them. */
export function addPairs(pairs: string[], lines: string): void {
  for (let start = 0; start < lines.length;) {
    const end = lines.indexOf('\r\n', start)
    const stop = end < 0 ? lines.length : end
    const colon = lines.indexOf(':', start)
    if (colon > start && colon < stop) {
      const name = lines.slice(start, colon).toLowerCase()
      if (!isOfConnection(name)) pairs.push(name, lines.slice(colon + 1, stop).trim())
    }
    start = stop + 2
  }
}

/** Lines as the object that node needs for trailers. */
export function headersOf(lines: string): Record<string, string[]> {
  const pairs: string[] = []
  addPairs(pairs, lines)
  const headers: Record<string, string[]> = Object.create(null)
  for (let at = 0; at + 1 < pairs.length; at += 2) (headers[pairs[at] ?? ''] ??= []).push(pairs[at + 1] ?? '')
  return headers
}
