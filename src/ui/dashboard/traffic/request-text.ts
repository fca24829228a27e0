import { titleOf } from '#contract/names.ts'
import { answeringModule, lackOf, responderOf, type EndedRequest } from '#contract/request-responder.ts'

export const milliseconds = (ms: number): string =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`

/** A time that is often far below a millisecond. */
export const shortTime = (microseconds: number): string =>
  microseconds < 1000 ? `${Math.round(microseconds)} µs` : milliseconds(microseconds / 1000)

export const totalMs = ({
  modules_ms: modules,
  backend_ms: backend,
  content_ms: content,
}: EndedRequest): number => modules + (backend ?? 0) + (content ?? 0)

const failedAt = {
  visitor: 'client',
  edge: 'edge',
  tunnel: 'no agent',
  agent: 'agent',
  upstream: 'service',
} as const

/** Why a request failed, in a few words: the module or service that rejected it, or where it failed and the error. */
export function reasonOf(request: EndedRequest): string {
  const module = answeringModule(request)
  if (module !== undefined) return titleOf(module)
  if (request.failed === 'visitor' && request.error_code === null) return responderOf(request)
  const lack = lackOf(request)
  const where = lack === undefined ? request.failed && failedAt[request.failed] : `no ${lack}`
  return [where, request.error_code].filter(Boolean).join(' · ')
}
