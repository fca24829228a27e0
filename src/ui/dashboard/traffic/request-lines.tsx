import type { JSX } from 'preact'
import { href } from '#ui/dashboard/router.ts'
import { Time } from '#ui/dashboard/shell/parts.tsx'
import type { EndedRequest } from '#contract/request-responder.ts'
import { milliseconds, reasonOf, totalMs } from '#ui/dashboard/traffic/request-text.ts'

/** A few requests, one per line. */
export const RequestLines = ({ requests }: { requests: readonly EndedRequest[] }): JSX.Element => (
  <ul class="changes">
    {requests.map(request => (
      <li key={request.id}>
        <Time at={request.started_at} hasSeconds />
        <span class={`status s${Math.floor(request.status / 100)}`}>{request.status}</span>{' '}
        <a href={href(['requests', request.id])} dir="auto">
          {request.method} {request.path}
        </a>{' '}
        {milliseconds(totalMs(request))} {reasonOf(request)}
      </li>
    ))}
  </ul>
)
