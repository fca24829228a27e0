import type { JSX } from 'preact'
import { isPlainObject } from '#base/plain-object.ts'
import { hasPrefixOf } from '#contract/kind.ts'
import { backendKinds } from '#contract/kinds/backends.ts'
import { titleOf } from '#contract/names.ts'
import { call } from '#ui/dashboard/api.ts'
import { counted } from '#ui/format.ts'
import { reloading } from '#ui/dashboard/kinds/resource-locator.ts'
import { resourceHref, text, type Resource } from '#ui/dashboard/kinds/resource.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { Shown } from '#ui/dashboard/shell/parts.tsx'

/** Backends cannot contain themselves; this only bounds what a page loads. */
const MAX_DEPTH = 5

type BackendCollection = keyof typeof backendKinds

const collectionOf = (id: string): BackendCollection | undefined =>
  (Object.keys(backendKinds) as BackendCollection[]).find(name => hasPrefixOf(backendKinds[name], id))

interface Health {
  readonly state: 'on' | 'off' | ''
  readonly text: string
}

/** What is known of a backend without sending it a request. */
function healthOf(collection: BackendCollection, backend: Resource): Health {
  if (collection === 'tunnel_group_backends') {
    const { length } = Array.isArray(backend['tunnels']) ? backend['tunnels'] : []
    return length === 0
      ? { state: 'off', text: 'no agent online' }
      : { state: 'on', text: `${counted(length, 'tunnel')} online` }
  }
  if (collection === 'static_backends') return { state: '', text: text(backend['address']) }
  if (collection === 'http_response_backends')
    return { state: 'on', text: `responds with ${String(backend['status_code'])}` }
  return { state: '', text: '' }
}

interface Child {
  readonly id: string
  readonly note: string
}

function childrenOf(collection: BackendCollection, { backends }: Resource): Child[] {
  if (collection === 'weighted_backends' && isPlainObject(backends)) {
    const weights = Object.entries(backends).map(([id, weight]) => ({ id, weight: Number(weight) }))
    const sum = weights.reduce((total, { weight }) => total + weight, 0)
    return weights.map(({ id, weight }) => ({
      id,
      note: `weight ${weight} (${sum === 0 ? 0 : Math.round((weight / sum) * 100)} %)`,
    }))
  }
  if (collection === 'failover_backends' && Array.isArray(backends))
    return backends.map((id, at) => ({ id: String(id), note: at === 0 ? 'first' : `then ${at + 1}` }))
  return []
}

/** A backend with those that it distributes requests to. */
export function BackendTree(props: { id: string; note?: string; depth?: number }): JSX.Element {
  const { id, note, depth = 0 } = props
  const collection = collectionOf(id)
  const loaded = useLoaded(
    id,
    async () => (collection ? ((await call(collection, 'get', id)) as Resource) : {}),
    collection && reloading(backendKinds[collection], id),
  )
  if (!collection) return <code>{id}</code>
  return (
    <Shown of={loaded}>
      {backend => {
        const health = healthOf(collection, backend)
        const children = depth < MAX_DEPTH ? childrenOf(collection, backend) : []
        return (
          <div class="backend">
            <a href={resourceHref(collection, id)} dir="auto">
              {text(backend['description']) || titleOf(backendKinds[collection].name)}
            </a>{' '}
            {note !== undefined && <span class="dim">{note}</span>}{' '}
            {health.text !== '' && (
              <span class={health.state === '' ? 'dim' : `dot ${health.state}`}>{health.text}</span>
            )}
            {children.length > 0 && (
              <ul>
                {children.map(child => (
                  <li key={child.id}>
                    <BackendTree {...child} depth={depth + 1} />
                  </li>
                ))}
              </ul>
            )}
          </div>
        )
      }}
    </Shown>
  )
}
