import type { request } from '#contract/kinds/request.ts'
import { titleOf } from '#contract/names.ts'
import type { View } from '#contract/shape.ts'

export type EndedRequest = View<typeof request.shape>

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

/** The module that responded instead of the backend. */
export const answeringModule = ({ modules }: EndedRequest): string | undefined =>
  modules.find(({ verdict }) => verdict === 'answered')?.name

const failedAt = {
  visitor: 'client',
  edge: 'edge',
  tunnel: 'no agent',
  agent: 'agent',
  upstream: 'service',
} as const

/** Why a response is not the service's, in a few words: the module that responded, or where it failed and the error. */
export function reasonOf(request: EndedRequest): string {
  const module = answeringModule(request)
  if (module !== undefined) return titleOf(module)
  return [request.failed && failedAt[request.failed], request.error_code].filter(Boolean).join(' · ')
}
