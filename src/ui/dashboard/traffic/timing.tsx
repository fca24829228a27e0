import type { JSX } from 'preact'
import { titleOf } from '#contract/names.ts'
import { milliseconds, shortTime, totalMs, type EndedRequest } from '#ui/dashboard/traffic/request-text.ts'

interface TimePart {
  readonly name: string
  readonly ms: number | null
  /** Whether it is within the part before it. */
  readonly isInner?: boolean
}

/** The handshake is of the connection, and no part of the total. */
function timeParts(request: EndedRequest): TimePart[] {
  const { tls_ms: tls, dial_ms: dial } = request
  return [
    ...(tls === null ? [] : [{ name: 'TLS handshake', ms: tls }]),
    { name: 'Modules', ms: request.modules_ms },
    ...request.modules.flatMap(({ name, microseconds }) =>
      microseconds === null ? [] : [{ name: titleOf(name), ms: microseconds / 1000, isInner: true }],
    ),
    { name: 'Backend', ms: request.backend_ms },
    ...(dial === null ? [] : [{ name: 'Connecting', ms: dial, isInner: true }]),
    { name: 'Body', ms: request.content_ms },
  ]
}

/** How long each part of a request took. */
export function Timing({ request }: { request: EndedRequest }): JSX.Element {
  const total = totalMs(request)
  const longest = Math.max(total, request.tls_ms ?? 0)
  return (
    <section class="card" aria-label="Time">
      <h2>Time: {milliseconds(total)}</h2>
      {timeParts(request).map(({ name, ms, isInner = false }, at) => (
        <div key={at} class={isInner ? 'timing inner' : 'timing'}>
          <span>{name}</span>
          <span class="bar-box">
            <span class="bar-part" style={{ width: `${longest === 0 ? 0 : ((ms ?? 0) / longest) * 100}%` }} />
          </span>
          <span>{ms === null ? '–' : shortTime(ms * 1000)}</span>
        </div>
      ))}
      {request.tls_ms !== null && (
        <p class="hint">
          The TLS handshake is that of the connection, which other requests may share. It is not in the sum.
        </p>
      )}
    </section>
  )
}
