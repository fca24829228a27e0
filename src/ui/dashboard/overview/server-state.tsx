import type { JSX } from 'preact'
import type { ServerStatus } from '#contract/status.ts'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'

const LIVE_MS = 15_000

/** How a level of the status is shown. */
export const levels = {
  ok: { mark: 'on', text: 'Healthy' },
  attention: { mark: '', text: 'Needs attention' },
  failing: { mark: 'off', text: 'Failing' },
} as const satisfies Record<ServerStatus['status'], object>

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

/** One line about the server, which leads to its status. */
export function ServerState(): JSX.Element | null {
  const { value } = useLoaded('server state', () => api.status(), { everyMs: LIVE_MS })
  if (!value) return null
  const { mark, text } = levels[value.status]
  return (
    <p class={`dot ${mark}`}>
      <a href={href(['status'])}>{text}</a>, version {value.version}, up {upFor(value.uptime_seconds)}
    </p>
  )
}
