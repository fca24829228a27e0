import { asText, fromBase64, hexDump } from '#ui/bytes.ts'
import { element } from '#ui/element.ts'
import { byteSize, formatted } from '#ui/format.ts'
import { header, type CapturedBody, type Headers } from '#ui/captured.ts'

/** Beyond this a browser stalls during layout. */
const MAX_SHOWN = 500_000

export const pre = (text: string): HTMLElement => {
  const cut = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n…` : text
  return element('pre', { tabindex: 0 }, cut)
}

const note = (text: string): HTMLElement => element('p', { class: 'hint' }, text)

function sizeNote({ size, truncated }: CapturedBody): HTMLElement {
  return note(truncated ? `${byteSize(size)}, of which the beginning was kept` : byteSize(size))
}

/** A body in its most readable form: an image, indented text, or a hex dump. */
export function bodyView(headers: Headers, body: CapturedBody | null): Node {
  if (body === null) return note('no response yet')
  if (body.size === 0) return note('no body')
  const bytes = fromBase64(body.base64)
  const type = header(headers, 'Content-Type')
  if (type.startsWith('image/')) return picture(bytes, type, body)
  const text = asText(bytes)
  if (text === undefined) return element('div', {}, sizeNote(body), pre(hexDump(bytes)))
  const { text: shown, problem } = formatted(text, type)
  return element('div', {}, sizeNote(body), problem !== undefined && note(problem), pre(shown))
}

/** In an image element nothing of the body is executed, not even in SVG. */
function picture(bytes: Uint8Array<ArrayBuffer>, type: string, body: CapturedBody): Node {
  const url = URL.createObjectURL(new Blob([bytes], { type }))
  const release = (): void => URL.revokeObjectURL(url)
  const image = element('img', { src: url, alt: `body of type ${type}`, load: release, error: release })
  return element('div', {}, sizeNote(body), image)
}

export const headersView = (headers: Headers): Node =>
  element(
    'table',
    { class: 'headers' },
    ...Object.entries(headers).flatMap(([name, values]) =>
      values.map(value => element('tr', {}, element('th', { scope: 'row' }, name), element('td', {}, value))),
    ),
  )
