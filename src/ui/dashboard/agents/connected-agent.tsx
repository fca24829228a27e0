import type { JSX } from 'preact'
import { useAgentLink } from '#ui/dashboard/agents/agent-link.ts'
import { api } from '#ui/dashboard/api.ts'
import { ResourceTable } from '#ui/dashboard/kinds/table.tsx'
import { Fields } from '#ui/dashboard/kinds/value.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { Shown } from '#ui/dashboard/shell/parts.tsx'

/** How an agent is connected, and what it serves. */
export const ConnectedAgent = ({ id }: { id: string }): JSX.Element => (
  <>
    <AgentLink id={id} />
    <AgentTunnels id={id} />
  </>
)

function AgentLink({ id }: { id: string }): JSX.Element {
  const { value, ...loaded } = useAgentLink(id)
  return (
    <section class="card" aria-label="Link to the gateway">
      <h2>Link to the gateway</h2>
      {value ? (
        <Fields entries={Object.entries(value)} />
      ) : (
        <Shown of={{ ...loaded, value }}>{() => null}</Shown>
      )}
    </section>
  )
}

function AgentTunnels({ id }: { id: string }): JSX.Element {
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
