import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { useSettled } from '#ui/dashboard/settled.ts'

/** As in the API; its own endpoint if both are absent. */
export interface ReplayTarget {
  readonly endpoint_id?: string
  readonly tunnel_id?: string
}

interface Choice {
  readonly id: string
  readonly name: string
}

interface Choices {
  readonly endpoints: readonly Choice[]
  readonly tunnels: readonly Choice[]
  /** False when there are more than one page of them. */
  readonly isComplete: boolean
}

const nameAndId = (name: string, id: string): string => (name === '' ? id : `${name} (${id})`)

const containing = (text: string, ...fields: readonly string[]): string =>
  `(${fields.map(name => `obj.${name}.contains(${JSON.stringify(text)})`).join(' || ')})`

/** Wildcards are no address that a request can be sent to. */
const HTTP = 'obj.proto.startsWith("http") && !obj.hostport.startsWith("*")'

/** What a request can be sent to; with a text, what contains it. */
async function loadChoices(text: string): Promise<Choices> {
  const isAll = text === ''
  const [endpoints, tunnels] = await Promise.all([
    api.endpoints.list({ filter: isAll ? HTTP : `${HTTP} && ${containing(text, 'public_url', 'id')}` }),
    api.tunnels.list(isAll ? {} : { filter: containing(text, 'public_url', 'id', 'forwards_to') }),
  ])
  return {
    endpoints: endpoints.items.map(({ id, public_url: url }) => ({ id, name: nameAndId(url, id) })),
    tunnels: tunnels.items
      .filter(({ proto }) => proto === null || proto.startsWith('http'))
      .map(({ id, public_url: url, forwards_to: service }) => ({
        id,
        name: `${nameAndId(url, id)} → ${service}`,
      })),
    isComplete: endpoints.next === undefined && tunnels.next === undefined,
  }
}

const SAME: Choice = { id: '', name: 'The same endpoint' }

function targetOf(id: string): ReplayTarget {
  if (id === '') return {}
  return id.startsWith('tn_') ? { tunnel_id: id } : { endpoint_id: id }
}

const group = (label: string, choices: readonly Choice[]): JSX.Element | false =>
  choices.length > 0 && (
    <optgroup label={label}>
      {choices.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </optgroup>
  )

/** Chooses where a request is sent again: its own endpoint, another one, or one agent. Many are found by a text. */
export function TargetSelect(props: {
  target: ReplayTarget
  change: (target: ReplayTarget) => void
}): JSX.Element {
  const [text, setText] = useState('')
  const [isSearched, setIsSearched] = useState(false)
  const [chosen, setChosen] = useState(SAME)
  const wanted = useSettled(text.trim())
  const { value } = useLoaded(`replay targets ${wanted}`, () => loadChoices(wanted))
  if (value?.isComplete === false && !isSearched) setIsSearched(true)
  const { endpoints = [], tunnels = [] } = value ?? {}
  const target = props.target.endpoint_id ?? props.target.tunnel_id ?? ''
  const found = [...endpoints, ...tunnels]
  // It stays although another text is searched for.
  const isMissing = target !== '' && !found.some(({ id }) => id === target)
  const choose = (id: string): void => {
    setChosen(found.find(choice => choice.id === id) ?? SAME)
    props.change(targetOf(id))
  }
  return (
    <>
      {isSearched && (
        <label>
          Find an endpoint or agent
          <input
            type="search"
            autocomplete="off"
            spellcheck={false}
            placeholder="Part of its URL, id or service"
            value={text}
            onInput={event => setText(event.currentTarget.value)}
          />
        </label>
      )}
      <label>
        Send it to
        <select value={target} onChange={event => choose(event.currentTarget.value)}>
          <option value="">{SAME.name}</option>
          {isMissing && <option value={target}>{chosen.id === target ? chosen.name : target}</option>}
          {group('Another endpoint', endpoints)}
          {group('One agent, without modules', tunnels)}
        </select>
      </label>
      {isSearched && (
        <p class="hint" role="status">
          {value === undefined ? 'Searching …' : `${found.length} found`}
          {value?.isComplete === false && ', and more: enter a part of the name.'}
        </p>
      )}
    </>
  )
}
