import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { isReplayable } from '#contract/kinds/request-capture.ts'
import { counted } from '#ui/format.ts'
import { api } from '#ui/dashboard/api.ts'
import { TargetSelect, type ReplayTarget } from '#ui/dashboard/capture/target-select.tsx'
import { href } from '#ui/dashboard/router.ts'
import { Dialog } from '#ui/dashboard/shell/parts.tsx'
import type { EndedRequest } from '#contract/request-responder.ts'

/** More would load a service that has just failed. */
const MAX_REPLAYS = 50

interface Outcome {
  readonly request: EndedRequest
  readonly id?: string
  readonly text: string
}

async function replayed(request: EndedRequest, target: ReplayTarget): Promise<Outcome> {
  try {
    const { request_id: id, capture } = await api.requests.replay(request.id, target)
    return { request, id, text: String(capture.response?.status ?? 'no response') }
  } catch (error) {
    return { request, text: error instanceof Error ? error.message : String(error) }
  }
}

/** Sends the captured ones of the failed requests again, one after the other. */
export function ReplayFailed({ rows }: { rows: readonly EndedRequest[] }): JSX.Element {
  const [chosen, setChosen] = useState<readonly EndedRequest[]>()
  return (
    <>
      <button type="button" onClick={() => setChosen(rows.filter(isReplayable).slice(0, MAX_REPLAYS))}>
        Replay failed
      </button>
      {chosen && <ReplayDialog chosen={chosen} close={() => setChosen(undefined)} />}
    </>
  )
}

function ReplayDialog(props: { chosen: readonly EndedRequest[]; close: () => void }): JSX.Element {
  const { chosen } = props
  const [outcomes, setOutcomes] = useState<readonly Outcome[]>([])
  const [isBusy, setIsBusy] = useState(false)
  const [target, setTarget] = useState<ReplayTarget>({})
  const run = async (): Promise<void> => {
    setIsBusy(true)
    for (const request of chosen.toReversed()) {
      const outcome = await replayed(request, target)
      setOutcomes(before => [...before, outcome])
    }
  }
  return (
    <Dialog label="Replay failed requests" close={props.close}>
      {chosen.length === 0 ? (
        <p>
          No failed request of this page was captured. Open one of them to capture its host, and wait for the
          next failure.
        </p>
      ) : (
        <p>Captured on this page: {counted(chosen.length, 'failed request')}. The oldest is sent first.</p>
      )}
      {chosen.length > 0 && <TargetSelect target={target} change={setTarget} />}
      <ul class="values" aria-label="Results">
        {outcomes.map(({ request, id, text }) => (
          <li key={request.id}>
            <span dir="auto">
              {request.method} {request.path}
            </span>
            : {request.status} → {id === undefined ? text : <a href={href(['requests', id])}>{text}</a>}
          </li>
        ))}
      </ul>
      <form method="dialog" class="actions">
        <button>Close</button>
        {chosen.length > 0 && (
          <button type="button" class="primary" disabled={isBusy} onClick={() => void run()}>
            Send {counted(chosen.length, 'request')}
          </button>
        )}
      </form>
    </Dialog>
  )
}
