import { asText, fromBase64, hexDump } from '#ui/bytes.ts'
import { header, type Detail } from '#ui/captured.ts'
import { formatted } from '#ui/format.ts'

/** A response as text that can be compared line by line. */
export function responseText({ response, bodies }: Detail): string {
  if (response === null || bodies.response === null) return 'no response'
  const lines = Object.entries(response.headers).flatMap(([name, values]) =>
    values.map(value => `${name}: ${value}`),
  )
  const bytes = fromBase64(bodies.response.base64)
  const text = asText(bytes)
  const body =
    text === undefined ? hexDump(bytes) : formatted(text, header(response.headers, 'Content-Type')).text
  return [response.status, ...lines.toSorted(), '', body].join('\n')
}
