export type PageFormat = 'html' | 'json' | 'text'

/** More entries than any legitimate client sends. */
const MAX_ENTRIES = 64

/** The preferred format of an Accept field; plain text without a preference, as with curl. */
export function formatFor(accept: string): PageFormat {
  let html = 0
  let json = 0
  for (const entry of accept.slice(0, 4096).toLowerCase().split(',', MAX_ENTRIES)) {
    const [type = '', ...parameters] = entry.split(';').map(part => part.trim())
    const weight = weightOf(parameters)
    if (type === 'text/html' || type === 'application/xhtml+xml') html = Math.max(html, weight)
    if (type === 'application/json' || /^application\/[\w.-]+\+json$/.test(type))
      json = Math.max(json, weight)
  }
  if (json > html) return 'json'
  return html > 0 ? 'html' : 'text'
}

function weightOf(parameters: readonly string[]): number {
  const quality = parameters.find(parameter => parameter.startsWith('q='))
  const weight = quality === undefined ? 1 : Number(quality.slice(2))
  return weight >= 0 && weight <= 1 ? weight : 0
}
