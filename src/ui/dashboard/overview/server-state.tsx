import type { JSX } from 'preact'
import type { ServerStatus } from '#contract/status.ts'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { levels, Problems } from '#ui/dashboard/server/problems.tsx'

const LIVE_MS = 15_000

const units = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
] as const

/** A duration in its largest unit. */
function upFor(seconds: number): string {
  const [unit, length] = units.find(([, least]) => seconds >= least) ?? (['s', 1] as const)
  return `${Math.floor(seconds / length)} ${unit}`
}

export const useServerState = (): ServerStatus | undefined =>
  useLoaded('server state', () => api.status(), {
    on: ({ kind }) => kind === 'reserved_domain',
    everyMs: LIVE_MS,
  }).value

/** The state of the server, which links to its status, and what needs attention. */
export function ServerState({ status }: { status: ServerStatus }): JSX.Element {
  const { mark, text } = levels[status.status]
  return (
    <>
      <p class={`dot ${mark}`}>
        <a href={href(['status'])}>{text}</a>, version {status.version}, up {upFor(status.uptime_seconds)}
      </p>
      <Problems status={status} />
    </>
  )
}
