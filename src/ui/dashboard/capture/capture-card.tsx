import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { asCurl } from '#ui/curl.ts'
import { api } from '#ui/dashboard/api.ts'
import { CaptureSwitch } from '#ui/dashboard/capture/capture-state.tsx'
import { asDetail, type ShownCapture } from '#ui/dashboard/capture/detail.ts'
import { MessageView } from '#ui/dashboard/capture/message-view.tsx'
import { ReplayForm } from '#ui/dashboard/capture/replay-form.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { place } from '#ui/dashboard/router.ts'
import { Dialog, Shown, Snippet } from '#ui/dashboard/shell/parts.tsx'
import type { EndedRequest } from '#contract/request-responder.ts'
import { asHar } from '#ui/har.ts'

const REVOKE_MS = 4000

/** Headers and bodies of a request, if they were captured, and its replay. */
export function CaptureCard({ request }: { request: EndedRequest }): JSX.Element {
  return request.captured ? <Captured request={request} /> : <NotCaptured request={request} />
}

function NotCaptured({ request }: { request: EndedRequest }): JSX.Element {
  const { host, route_id: route } = request
  return (
    <section class="card" aria-label="Headers and bodies">
      <h2>Headers and bodies</h2>
      <p>They were not captured. To see those of the next requests, and to replay them:</p>
      <div class="actions">
        <CaptureSwitch target={{ host }} what={host} />
        {route !== null && <CaptureSwitch target={{ route_id: route }} what="this route" />}
      </div>
    </section>
  )
}

function Captured({ request }: { request: EndedRequest }): JSX.Element {
  const loaded = useLoaded(`capture ${request.id}`, () => api.requests.capture(request.id))
  return <Shown of={loaded}>{capture => <Messages request={request} capture={capture} />}</Shown>
}

function Messages({ request, capture }: { request: EndedRequest; capture: ShownCapture }): JSX.Element {
  const [isReplaying, setIsReplaying] = useState(place.value.query.has('replay'))
  const { response } = capture
  return (
    <>
      <section class="card" aria-label="Headers and bodies">
        <div class="page-head">
          <h2>Headers and bodies</h2>
          <div class="actions">
            <CaptureSwitch
              target={{ host: request.host }}
              what={request.host}
              ids={[request.route_id, request.tunnel_id]}
            />
            <CopyCurl request={request} capture={capture} />
            <button type="button" onClick={() => void saveHar(request, capture)}>
              Save as HAR
            </button>
            <button
              type="button"
              class="primary"
              aria-expanded={isReplaying}
              onClick={() => setIsReplaying(!isReplaying)}
            >
              Replay
            </button>
          </div>
        </div>
        <h3 dir="auto">Request: {`${capture.request.method} ${capture.request.target}`}</h3>
        <MessageView label="Request" message={capture.request} />
        <h3 dir="auto">Response{response && `: ${response.status} ${response.reason}`}</h3>
        {response ? (
          <MessageView label="Response" message={response} />
        ) : (
          <p class="hint">{capture.complete ? 'no response' : 'no response yet'}</p>
        )}
      </section>
      {isReplaying && <ReplayForm request={request} capture={capture} />}
    </>
  )
}

function CopyCurl({ request, capture }: { request: EndedRequest; capture: ShownCapture }): JSX.Element {
  const [command, setCommand] = useState<string>()
  return (
    <>
      <button type="button" onClick={async () => setCommand(asCurl(await asDetail(request, capture)))}>
        As curl
      </button>
      {command !== undefined && (
        <Dialog label="curl" close={() => setCommand(undefined)}>
          <Snippet label="Command" text={command} />
          <form method="dialog">
            <button>Close</button>
          </form>
        </Dialog>
      )}
    </>
  )
}

/** Downloads the request in the HTTP Archive format. */
async function saveHar(request: EndedRequest, capture: ShownCapture): Promise<void> {
  const text = JSON.stringify(asHar([await asDetail(request, capture)]))
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  link.download = `${request.id}.har`
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), REVOKE_MS)
}
