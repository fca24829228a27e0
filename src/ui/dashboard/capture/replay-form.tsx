import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Detail } from '#ui/captured.ts'
import { api } from '#ui/dashboard/api.ts'
import { asDetail, type ShownCapture } from '#ui/dashboard/capture/detail.ts'
import { headerEdits, headerText } from '#ui/dashboard/capture/header-edits.ts'
import { MessageView } from '#ui/dashboard/capture/message-view.tsx'
import { ReplayFields, type ReplayDraft } from '#ui/dashboard/capture/replay-fields.tsx'
import { ResponseDiff } from '#ui/dashboard/capture/response-diff.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { ErrorBox } from '#ui/dashboard/shell/parts.tsx'
import type { EndedRequest } from '#contract/request-responder.ts'
import { milliseconds, totalMs } from '#ui/dashboard/traffic/request-text.ts'

const draftOf = ({ request }: ShownCapture): ReplayDraft => ({
  via: 'edge',
  target: {},
  method: request.method,
  path: request.target,
  headers: headerText(request.headers),
  body: request.body,
  resign: false,
})

/** The body of the API call: only what differs from the captured request. */
function editsOf(before: ReplayDraft, after: ReplayDraft) {
  const headers = headerEdits(before.headers, after.headers)
  return {
    via: after.via,
    ...after.target,
    ...(after.method !== before.method && { method: after.method }),
    ...(after.path !== before.path && { path: after.path }),
    ...(headers.length > 0 && { headers }),
    ...(after.body !== before.body && { body: after.body }),
    ...(after.resign && { resign: true }),
  }
}

interface Replayed {
  readonly id: string
  readonly capture: ShownCapture
  readonly before: Detail
  readonly after: Detail
}

/** Sends a captured request again, with changes, and compares the responses. */
export function ReplayForm(props: { request: EndedRequest; capture: ShownCapture }): JSX.Element {
  const { request, capture } = props
  const [start] = useState(() => draftOf(capture))
  const [draft, setDraft] = useState(start)
  const [result, setResult] = useState<Replayed>()
  const [error, setError] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const send = async (): Promise<void> => {
    setIsBusy(true)
    setError(undefined)
    try {
      const made = await api.requests.replay(request.id, editsOf(start, draft))
      const before = await asDetail(request, capture)
      const after = await asDetail(request, made.capture)
      setResult({ id: made.request_id, capture: made.capture, before, after })
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
    setIsBusy(false)
  }
  return (
    <section class="card" aria-label="Replay">
      <h2>Replay</h2>
      <form
        class="replay"
        onSubmit={event => {
          event.preventDefault()
          void send()
        }}
        onKeyDown={event => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.requestSubmit()
        }}
      >
        <ReplayFields
          draft={draft}
          change={setDraft}
          isText={capture.request.body_encoding === 'text'}
          isWebhook={request.modules.some(({ name }) => name === 'webhook_verification')}
        />
        <div class="actions">
          <button type="submit" class="primary" disabled={isBusy} title="Ctrl+Enter">
            Send
          </button>
          <button type="button" onClick={() => setDraft(start)}>
            As captured
          </button>
        </div>
      </form>
      {error && <ErrorBox error={error} />}
      {result && <Result result={result} />}
    </section>
  )
}

function Result({ result: { id, capture, before, after } }: { result: Replayed }): JSX.Element {
  const { response } = capture
  const { value: ended } = useLoaded(`replay ${id}`, () => api.requests.get(id))
  return (
    <section aria-label="Result" role="status">
      <h3>
        Result:{' '}
        {response === null ? (
          'no response'
        ) : (
          <span class={`status s${Math.floor(response.status / 100)}`}>{response.status}</span>
        )}{' '}
        {ended && `in ${milliseconds(totalMs(ended))}, `}
        <a href={href(['requests', id])}>show the request</a>
      </h3>
      <ResponseDiff before={before} after={after} />
      {response && <MessageView label="New response" message={response} />}
    </section>
  )
}
