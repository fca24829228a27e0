import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'

/** As in the API; its own endpoint if both are absent. */
export interface ReplayTarget {
  readonly endpoint_id?: string
  readonly tunnel_id?: string
}

interface Choice {
  readonly id: string
  readonly name: string
}

const nameAndId = (name: string, id: string): string => (name === '' ? id : `${name} (${id})`)

async function loadChoices(): Promise<{ endpoints: Choice[]; tunnels: Choice[] }> {
  const [endpoints, tunnels] = await Promise.all([api.endpoints.list(), api.tunnels.list()])
  return {
    endpoints: endpoints.items
      .filter(({ proto, hostport }) => proto.startsWith('http') && !hostport.startsWith('*'))
      .map(({ id, public_url: url }) => ({ id, name: nameAndId(url, id) })),
    tunnels: tunnels.items
      .filter(({ proto }) => proto === null || proto.startsWith('http'))
      .map(({ id, public_url: url, forwards_to: service }) => ({
        id,
        name: `${nameAndId(url, id)} → ${service}`,
      })),
  }
}

const keyOf = ({ endpoint_id: endpoint, tunnel_id: tunnel }: ReplayTarget): string => endpoint ?? tunnel ?? ''

function targetOf(id: string): ReplayTarget {
  if (id === '') return {}
  return id.startsWith('tn_') ? { tunnel_id: id } : { endpoint_id: id }
}

/** Chooses where a request is sent again: its own endpoint, another one, or one agent. */
export function TargetSelect(props: {
  target: ReplayTarget
  change: (target: ReplayTarget) => void
}): JSX.Element {
  const { value } = useLoaded('replay targets', loadChoices)
  const group = (label: string, choices: readonly Choice[] = []): JSX.Element | false =>
    choices.length > 0 && (
      <optgroup label={label}>
        {choices.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </optgroup>
    )
  return (
    <label>
      Send it to
      <select
        value={keyOf(props.target)}
        onChange={event => props.change(targetOf(event.currentTarget.value))}
      >
        <option value="">The same endpoint</option>
        {group('Another endpoint', value?.endpoints)}
        {group('One agent, without modules', value?.tunnels)}
      </select>
    </label>
  )
}
