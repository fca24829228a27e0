import { asText, fromBase64 } from '#ui/bytes.ts'
import { header, type Detail } from '#ui/captured.ts'
import { shellQuoted as quoted } from '#ui/shell-quoted.ts'

/** Headers that curl sets itself, or that described the message rather than the request. */
const OMITTED = new Set([
  'Host',
  'Content-Length',
  'Transfer-Encoding',
  'Connection',
  'Via',
  'Adit-Request-Id',
])

/** The request as a command for a shell, to the public address. */
export function asCurl({ request, bodies, url }: Detail): string {
  const host = header(request.headers, 'X-Forwarded-Host') || header(request.headers, 'Host')
  const scheme = header(request.headers, 'X-Forwarded-Proto') || 'https'
  const lines = [`curl ${quoted(url ?? `${scheme}://${host}${request.uri}`)}`]
  if (request.method !== 'GET') lines.push(`-X ${quoted(request.method)}`)
  for (const [name, values] of Object.entries(request.headers))
    if (!OMITTED.has(name) && !name.startsWith('X-Forwarded-'))
      for (const value of values) lines.push(`-H ${quoted(`${name}: ${value}`)}`)
  const bytes = fromBase64(bodies.request.base64)
  if (bytes.length === 0) return lines.join(' \\\n  ')
  const text = asText(bytes)
  if (text !== undefined) return [...lines, `--data-raw ${quoted(text)}`].join(' \\\n  ')
  const command = [...lines, '--data-binary @-'].join(' \\\n  ')
  return `printf %s ${quoted(bodies.request.base64)} | base64 -d | ${command}`
}
