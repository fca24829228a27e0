import type { ComponentChildren, JSX } from 'preact'
import { titleOf } from '#contract/names.ts'
import type { ServerStatus } from '#contract/status.ts'
import { api } from '#ui/dashboard/api.ts'
import { Fields } from '#ui/dashboard/kinds/value.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { levels, Problems } from '#ui/dashboard/server/problems.tsx'
import { PageHead, Shown, Time } from '#ui/dashboard/shell/parts.tsx'
import { TableHead } from '#ui/dashboard/shell/table-head.tsx'

const LIVE_MS = 5000

/** The state of the server. */
export function StatusPage(): JSX.Element {
  const loaded = useLoaded('status', () => api.status(), { everyMs: LIVE_MS })
  return (
    <>
      <PageHead title="Status" />
      <Shown of={loaded}>{status => <StatusView status={status} />}</Shown>
    </>
  )
}

function StatusView({ status }: { status: ServerStatus }): JSX.Element {
  const level = levels[status.status]
  const { version, runtime, domain, region, database, started_at: started } = status
  return (
    <>
      <p class={`dot ${level.mark}`} role="status">
        {level.text}
      </p>
      <Problems status={status} />
      <section class="card" aria-label="Server">
        <Fields
          entries={[
            ...Object.entries({ version, runtime, domain, region, started_at: started }),
            ['database', `${database.kind}, ${database.state}`],
            ...Object.entries(status.online),
          ]}
        />
      </section>
      <Table
        title="Listeners"
        columns={['Address', 'For clients']}
        rows={status.listeners.map(({ name, address, public_address: open }) => [
          titleOf(name),
          address ?? '–',
          open,
        ])}
      />
      <Table
        title="Limits"
        columns={['Used', 'Limit', 'Setting']}
        numeric={['Used', 'Limit']}
        rows={status.limits.map(({ name, used, limit, setting }) => [
          titleOf(name),
          used.toLocaleString(),
          limit.toLocaleString(),
          setting ?? '–',
        ])}
      />
      <Table
        title="Workers"
        columns={['State', 'Process', 'Started']}
        rows={status.workers.map(({ node, state, process_id: id, started_at: at }) => [
          node,
          state,
          String(id ?? '–'),
          at === null ? '–' : <Time key="started" at={at} />,
        ])}
      />
      <Table
        title="Failed background tasks"
        columns={['Failures', 'Last message', 'At']}
        rows={status.background.map(({ task, failures, last_message: message, last_at: at }) => [
          task,
          String(failures),
          message,
          <Time key="at" at={at} />,
        ])}
      />
    </>
  )
}

/** A table whose rows begin with their name; nothing without rows. */
function Table(props: {
  title: string
  columns: readonly string[]
  /** Columns of numbers. */
  numeric?: readonly string[]
  rows: readonly (readonly [string, ...ComponentChildren[]])[]
}): JSX.Element | null {
  const { numeric = [] } = props
  if (props.rows.length === 0) return null
  return (
    <section class="children" aria-label={props.title}>
      <h2>{props.title}</h2>
      <div class="table-box" tabIndex={0} role="region" aria-label={`Table of ${props.title}`}>
        <table>
          <TableHead columns={['Name', ...props.columns]} numeric={numeric} />
          <tbody>
            {props.rows.map(([first, ...rest]) => (
              <tr key={first}>
                <th scope="row">{first}</th>
                {rest.map((cell, at) => (
                  <td
                    key={at}
                    data-title={props.columns[at]}
                    class={numeric.includes(props.columns[at] ?? '') ? 'number' : ''}
                  >
                    {cell}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}
