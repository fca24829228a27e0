import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { CallDetails, type CallParts } from '#ui/dashboard/kinds/api-call.tsx'
import { Dialog, ErrorBox } from '#ui/dashboard/shell/parts.tsx'

/** A button whose action is carried out after a confirmation. */
export function Confirmed(props: {
  label: string
  question: ComponentChildren
  isDangerous?: boolean
  /** The same for a shell. */
  call?: CallParts | undefined
  act: () => Promise<void>
}): JSX.Element {
  const [isOpen, setIsOpen] = useState(false)
  const [error, setError] = useState<Error>()
  const run = async (): Promise<void> => {
    try {
      await props.act()
      setIsOpen(false)
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
  }
  return (
    <>
      <button
        type="button"
        class={props.isDangerous ? 'danger' : ''}
        onClick={() => {
          setError(undefined)
          setIsOpen(true)
        }}
      >
        {props.label}
      </button>
      {isOpen && (
        <Dialog label={props.label} close={() => setIsOpen(false)}>
          <p>{props.question}</p>
          {props.call && <CallDetails {...props.call} />}
          {error && <ErrorBox error={error} />}
          <form method="dialog" class="actions">
            <button>Cancel</button>
            <button type="button" class={props.isDangerous ? 'danger' : 'primary'} onClick={run}>
              {props.label}
            </button>
          </form>
        </Dialog>
      )}
    </>
  )
}
