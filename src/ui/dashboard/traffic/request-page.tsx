import type { JSX } from 'preact'
import type { EndedRequest } from '#contract/request-responder.ts'
import { api, operationOf } from '#ui/dashboard/api.ts'
import { CaptureCard } from '#ui/dashboard/capture/capture-card.tsx'
import { byteSize } from '#ui/format.ts'
import { CopyAsCall } from '#ui/dashboard/kinds/api-call.tsx'
import { IdLink } from '#ui/dashboard/kinds/value.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { isAdmin } from '#ui/dashboard/session.ts'
import { PageHead, Shown, Snippet, Time } from '#ui/dashboard/shell/parts.tsx'
import { LastChange } from '#ui/dashboard/traffic/last-change.tsx'
import { resourceNames, type ResourceNames } from '#ui/dashboard/traffic/resource-names.ts'
import { RelatedTabs } from '#ui/dashboard/traffic/related.tsx'
import { stepsOf, type PathStep } from '#ui/dashboard/traffic/steps.ts'
import { Timing } from '#ui/dashboard/traffic/timing.tsx'

type Reason = Awaited<ReturnType<typeof api.requests.reason>>

/** Why a request got its response. */
export function RequestPage({ id }: { id: string }): JSX.Element {
  const loaded = useLoaded(id, async () => {
    const request = await api.requests.get(id)
    const [reason, names] = await Promise.all([api.requests.reason(id), resourceNames(request)])
    return { request, reason, names }
  })
  const operation = operationOf('requests', 'get')
  return (
    <Shown of={loaded} title="Request">
      {({ request, reason, names }) => (
        <>
          <PageHead
            title={`${request.method} ${request.scheme}://${request.host}${request.path}`}
            sub={
              <>
                <code>{id}</code> <Time at={request.started_at} hasSeconds />
              </>
            }
          >
            <span class={`status big s${Math.floor(request.status / 100)}`}>{request.status}</span>
            {request.error_code !== null && <code>{request.error_code}</code>}
            {operation && <CopyAsCall operation={operation} params={[id]} />}
          </PageHead>
          <Path steps={stepsOf(request, names)} />
          <Explanation request={request} reason={reason} />
          <CaptureCard request={request} />
          <Timing request={request} />
          <Facts request={request} names={names} />
          <RelatedTabs request={request} />
        </>
      )}
    </Shown>
  )
}

const marks = { passed: '✓', answered: '●', failed: '✕', not_reached: '–' } as const

const Path = ({ steps }: { steps: readonly PathStep[] }): JSX.Element => (
  <ol class="path-steps" aria-label="Path of the request">
    {steps.map(({ name, detail, state, verdict, href: to }, at) => (
      <li key={at} class={state}>
        <strong>{name}</strong>
        <span class="mark">
          <span aria-hidden="true">{marks[state]}</span> {verdict}
        </span>
        <span class="detail" dir="auto" title={detail}>
          {to === undefined ? detail : <a href={to}>{detail}</a>}
        </span>
      </li>
    ))}
  </ol>
)

function Explanation({ request, reason }: { request: EndedRequest; reason: Reason }): JSX.Element {
  const { summary, error, advice, command } = reason
  return (
    <section class={`box ${advice === null ? 'good' : 'bad'}`} aria-label="Explanation">
      <h2>What happened</h2>
      <p>{summary}</p>
      {error !== null && <p>{error}</p>}
      {request.notes.map((note, at) => (
        <p key={at} dir="auto">
          {note}
        </p>
      ))}
      {advice !== null && (
        <>
          <h2>What to do</h2>
          <p>{advice}</p>
          {command !== null && <Snippet label="Command" text={command} />}
          {isAdmin.value && request.route_id !== null && <LastChange route={request.route_id} />}
          <p class="actions">
            {request.route_id !== null && request.edge_id !== null && (
              <a href={href(['https_edge_routes', request.route_id, 'edit'], { parent: request.edge_id })}>
                Edit the route
              </a>
            )}
            {request.route_id !== null && (
              <a href={href(['audit_events'], { object_id: request.route_id })}>Changes of the route</a>
            )}
          </p>
        </>
      )}
    </section>
  )
}

const NamedId = ({ id, name }: { id: string; name: string | undefined }): JSX.Element => (
  <>
    {name !== undefined && <span dir="auto">{name} </span>}
    <IdLink id={id} />
  </>
)

function Facts({ request, names }: { request: EndedRequest; names: ResourceNames }): JSX.Element {
  const ids = [
    ['Edge', request.edge_id],
    ['Backend', request.backend_id],
    ['Tunnel', request.tunnel_id],
  ] as const
  return (
    <section class="card" aria-label="Details">
      <dl>
        {ids.map(([name, id]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{id === null ? <span class="dim">–</span> : <NamedId id={id} name={names.get(id)} />}</dd>
          </div>
        ))}
        {request.agent !== null && (
          <div>
            <dt>Agent</dt>
            <dd dir="auto">{request.agent}</dd>
          </div>
        )}
        {request.replay_of !== null && (
          <div>
            <dt>Replay of</dt>
            <dd>
              <a href={href(['requests', request.replay_of])}>{request.replay_of}</a>
            </dd>
          </div>
        )}
        <div>
          <dt>Bodies</dt>
          <dd>
            {byteSize(request.request_bytes ?? 0)} received, {byteSize(request.response_bytes ?? 0)} sent
            {request.complete ? '' : ', incomplete'}
          </dd>
        </div>
      </dl>
    </section>
  )
}
