import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { ResourceTable } from '#ui/dashboard/kinds/table.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { Shown } from '#ui/dashboard/shell/parts.tsx'

/** What a connected agent serves. */
export function AgentTunnels({ id }: { id: string }): JSX.Element {
  const filter = `obj.tunnel_session.id == ${JSON.stringify(id)}`
  const loaded = useLoaded(`tunnels of ${id}`, () => api.tunnels.list({ filter }), {
    on: ({ kind }) => kind === 'tunnel',
  })
  return (
    <section class="children" aria-label="Tunnels of the agent">
      <h2>Tunnels</h2>
      <Shown of={loaded}>
        {({ items }) =>
          items.length === 0 ? (
            <p class="empty">The agent has opened none.</p>
          ) : (
            <ResourceTable collection="tunnels" items={items} without="tunnel_session" />
          )
        }
      </Shown>
    </section>
  )
}
