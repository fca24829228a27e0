import type { JSX } from 'preact'
import { titleOf } from '#contract/names.ts'
import type { ServerStatus } from '#contract/status.ts'
import { hrefOfId } from '#ui/dashboard/kinds/resource.ts'
import { Message } from '#ui/dashboard/shell/parts.tsx'

/** How a level of the status is shown. */
export const levels = {
  ok: { mark: 'on', text: 'Healthy' },
  attention: { mark: '', text: 'Needs attention' },
  failing: { mark: 'off', text: 'Failing' },
} as const satisfies Record<ServerStatus['status'], object>

/** The message without the name, which is shown before it. */
const withoutName = (message: string, name: string | null): string =>
  name !== null && message.startsWith(`${name} `) ? message.slice(name.length + 1) : message

/** What the server reports as wrong; nothing if all is well. */
export function Problems({
  status: { problems, problem_count: count },
}: {
  status: ServerStatus
}): JSX.Element | null {
  if (count === 0) return null
  return (
    <section class="box warn" aria-label="Needs attention">
      <h2>Needs attention ({count})</h2>
      <ul class="values">
        {problems.map(({ area, level, name, resource_id: id, message }, at) => {
          const to = id === null ? undefined : hrefOfId(id)
          return (
            <li key={at} dir="auto">
              <span class={`dot ${levels[level].mark}`}>{titleOf(area)}</span>{' '}
              {to === undefined ? name : <a href={to}>{name ?? id}</a>}{' '}
              <Message text={withoutName(message, name)} />
            </li>
          )
        })}
      </ul>
    </section>
  )
}
