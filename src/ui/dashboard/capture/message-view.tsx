import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { asText, hexDump } from '#ui/bytes.ts'
import { bodyBytes, decodedBody, headerOf, type DecodedBody } from '#ui/dashboard/capture/decode.ts'
import type { ShownMessage } from '#ui/dashboard/capture/detail.ts'
import { Tabs } from '#ui/dashboard/shell/tabs.tsx'
import { byteSize, formatted } from '#ui/format.ts'

/** Beyond this a browser stalls during layout. */
const MAX_SHOWN = 500_000

const Text = ({ text, label }: { text: string; label: string }): JSX.Element => (
  <pre tabIndex={0} aria-label={label} dir="auto">
    {text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}\n…` : text}
  </pre>
)

/** Headers and body of a captured request or response. */
export function MessageView({ label, message }: { label: string; message: ShownMessage }): JSX.Element {
  return (
    <Tabs
      label={label}
      tabs={[
        { name: 'Body', content: () => <BodyView label={`${label} body`} message={message} /> },
        { name: 'Headers', content: () => <HeadersView message={message} /> },
        {
          name: 'Hex',
          content: () => <Text label={`${label} bytes`} text={hexDump(bodyBytes(message)) || 'no body'} />,
        },
      ]}
    />
  )
}

const HeadersView = ({ message }: { message: ShownMessage }): JSX.Element => (
  <table class="headers">
    <tbody>
      {message.headers.map(({ name, value }, at) => (
        <tr key={at}>
          <th scope="row" dir="auto">
            {name}
          </th>
          <td dir="auto">{value}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

/** A body in its most readable form: an image, indented text, or a hex dump. */
function BodyView({ label, message }: { label: string; message: ShownMessage }): JSX.Element {
  const [decoded, setDecoded] = useState<DecodedBody>()
  useEffect(() => {
    let isCurrent = true
    // It never rejects: what cannot be decoded is shown as it is.
    void decodedBody(message).then(found => isCurrent && setDecoded(found))
    return () => void (isCurrent = false)
  }, [message])
  if (message.body_bytes === 0) return <p class="hint">no body</p>
  if (!decoded) return <p class="hint">Loading …</p>
  const type = headerOf(message, 'content-type')
  const text = asText(decoded.bytes)
  const { text: shown, problem } =
    text === undefined ? { text: hexDump(decoded.bytes) } : formatted(text, type)
  const notes = [
    byteSize(message.body_bytes),
    type,
    ...(message.truncated ? ['only its beginning was kept'] : []),
    decoded.note,
    problem,
  ]
  return (
    <>
      <p class="hint" dir="auto">
        {notes.filter(Boolean).join(', ')}
      </p>
      {type.startsWith('image/') ? (
        <Picture bytes={decoded.bytes} type={type} label={label} />
      ) : (
        <Text label={label} text={shown} />
      )}
    </>
  )
}

/** In an image element nothing of the body is executed, not even in SVG. */
function Picture(props: { bytes: Uint8Array<ArrayBuffer>; type: string; label: string }): JSX.Element {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([props.bytes], { type: props.type }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [props.bytes, props.type])
  return <img src={url} alt={props.label} />
}
