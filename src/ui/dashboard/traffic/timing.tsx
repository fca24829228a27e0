import type { JSX } from 'preact'
import { titleOf } from '#contract/names.ts'
import type { EndedRequest } from '#contract/request-responder.ts'
import { milliseconds, shortTime, totalMs } from '#ui/dashboard/traffic/request-text.ts'

interface TimePart {
  readonly name: string
  /** When it began, from the beginning of the request. */
  readonly from: number
  readonly ms: number | null
  /** Whether it is within the part before it. */
  readonly isInner?: boolean
}

/** The parts, one after the other. The handshake is of the connection, and no part of the total. */
function timeParts(request: EndedRequest): TimePart[] {
  const { tls_ms: tls, dial_ms: dial, modules_ms: modules, backend_ms: backend } = request
  const sent = modules
  const responded = sent + (backend ?? 0)
  const inner = request.modules.flatMap(({ name, microseconds }) =>
    microseconds === null ? [] : [{ name: titleOf(name), ms: microseconds / 1000 }],
  )
  return [
    ...(tls === null ? [] : [{ name: 'TLS handshake', from: 0, ms: tls }]),
    { name: 'Modules', from: 0, ms: modules },
    ...inner.map((part, at) => ({
      ...part,
      from: inner.slice(0, at).reduce((sum, { ms }) => sum + ms, 0),
      isInner: true,
    })),
    { name: 'Backend', from: sent, ms: backend },
    ...(dial === null ? [] : [{ name: 'Connecting', from: sent, ms: dial, isInner: true }]),
    { name: 'Body', from: responded, ms: request.content_ms },
  ]
}

/** How long each part of a request took. */
export function Timing({ request }: { request: EndedRequest }): JSX.Element {
  const total = totalMs(request)
  const longest = Math.max(total, request.tls_ms ?? 0)
  const share = (ms: number): string => `${longest === 0 ? 0 : Math.min(1, ms / longest) * 100}%`
  return (
    <section class="card" aria-label="Time">
      <h2>Time: {milliseconds(total)}</h2>
      {timeParts(request).map(({ name, from, ms, isInner = false }, at) => (
        <div key={at} class={isInner ? 'timing inner' : 'timing'}>
          <span>{name}</span>
          <span class="bar-box">
            <span class="bar-part" style={{ marginInlineStart: share(from), width: share(ms ?? 0) }} />
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
