import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { TargetSelect, type ReplayTarget } from '#ui/dashboard/capture/target-select.tsx'

/** What is going to be sent. */
export interface ReplayDraft {
  readonly via: 'edge' | 'agent'
  readonly target: ReplayTarget
  readonly method: string
  readonly path: string
  readonly headers: string
  readonly body: string
  /** Signs a webhook with the secret of its route. */
  readonly resign: boolean
}

interface FieldsProps {
  readonly draft: ReplayDraft
  readonly change: (draft: ReplayDraft) => void
  readonly isText: boolean
  readonly isWebhook: boolean
}

/** Edits a captured request before it is sent again. */
export function ReplayFields(props: FieldsProps): JSX.Element {
  const { draft, change } = props
  const box = useRef<HTMLFieldSetElement>(null)
  useEffect(() => box.current?.querySelector('input')?.focus(), [])
  const set = (part: Partial<ReplayDraft>): void => change({ ...draft, ...part })
  const ways = [
    { via: 'edge', label: 'Through the gateway, with all modules' },
    { via: 'agent', label: 'Straight to the backend or agent, without modules' },
  ] as const
  return (
    <>
      <fieldset ref={box}>
        <legend>How</legend>
        {ways.map(({ via, label }) => (
          <label key={via} class="toggle">
            <input
              type="radio"
              name="via"
              disabled={draft.target.tunnel_id !== undefined}
              checked={(draft.target.tunnel_id === undefined ? draft.via : 'agent') === via}
              onChange={() => set({ via })}
            />
            {label}
          </label>
        ))}
      </fieldset>
      <TargetSelect target={draft.target} change={target => set({ target })} />
      {props.isWebhook && (
        <label class="toggle">
          <input
            type="checkbox"
            checked={draft.resign}
            onChange={event => set({ resign: event.currentTarget.checked })}
          />
          Sign it again, with the secret of its route
        </label>
      )}
      <label>
        Method
        <input value={draft.method} onInput={event => set({ method: event.currentTarget.value })} />
      </label>
      <label>
        Path
        <input dir="auto" value={draft.path} onInput={event => set({ path: event.currentTarget.value })} />
      </label>
      <label>
        Headers
        <textarea
          rows={6}
          spellcheck={false}
          value={draft.headers}
          onInput={event => set({ headers: event.currentTarget.value })}
        />
      </label>
      <p class="hint">Values that read [masked] are sent as they were, unless you change them.</p>
      <label>
        Body
        <textarea
          rows={8}
          dir="auto"
          spellcheck={false}
          disabled={!props.isText}
          value={props.isText ? draft.body : 'These bytes are not text; they are sent unchanged.'}
          onInput={event => set({ body: event.currentTarget.value })}
        />
      </label>
    </>
  )
}
