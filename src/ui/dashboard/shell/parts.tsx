import { signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError, UnreachableError } from '#client/errors.ts'
import type { Loaded } from '#ui/dashboard/loaded.ts'

/** The heading of a page, with its actions. */
export function PageHead(props: {
  title: string
  sub?: ComponentChildren
  children?: ComponentChildren
}): JSX.Element {
  useEffect(() => {
    document.title = `${props.title} · Adit`
  }, [props.title])
  return (
    <div class="page-head">
      <div class="page-title">
        <h1>{props.title}</h1>
        {props.sub !== undefined && <p class="hint">{props.sub}</p>}
      </div>
      <div class="actions">{props.children}</div>
    </div>
  )
}

function messageOf(error: Error): string {
  if (error instanceof UnreachableError) return 'The server does not respond. The page tries again.'
  return error.message
}

export function ErrorBox({ error, retry }: { error: Error; retry?: () => void }): JSX.Element {
  return (
    <div class="box bad" role="alert">
      <p>{messageOf(error)}</p>
      {error instanceof ApiError && error.code !== undefined && (
        <p class="hint">
          {error.code} {error.operationId}
        </p>
      )}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Shown with the last state of what has been deleted, or is not online any more. */
const Gone = (): JSX.Element => (
  <p class="box warn" role="status">
    It does not exist any more. This was its last state.
  </p>
)

const isNotFound = (error: Error): boolean => error instanceof ApiError && error.status === 404

/** The value of a load; before it the reason why there is none. */
export function Shown<Value>(props: {
  of: Loaded<Value>
  /** The heading of a page without its value, which has the real one. */
  title?: string
  children: (value: Value) => ComponentChildren
}): JSX.Element {
  const { value, error, reload } = props.of
  return (
    <>
      {error && value === undefined && props.title !== undefined && <PageHead title={props.title} />}
      {error &&
        (value !== undefined && isNotFound(error) ? <Gone /> : <ErrorBox error={error} retry={reload} />)}
      {value === undefined && !error && <p class="hint loading">Loading …</p>}
      {value !== undefined && props.children(value)}
    </>
  )
}

/** A time as people read it, with the exact one as its title; with its seconds, where many follow each other. */
export function Time({ at, hasSeconds }: { at: string; hasSeconds?: true }): JSX.Element {
  const date = new Date(at)
  if (Number.isNaN(date.getTime())) return <span>{at}</span>
  return (
    <time dateTime={at} title={at}>
      {date.toLocaleString([], { dateStyle: 'medium', timeStyle: hasSeconds ? 'medium' : 'short' })}
    </time>
  )
}

const MOMENT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

/** A message of the server, with its times as people read them. */
export const Message = ({ text }: { text: string }): JSX.Element => (
  <>
    {text
      .split(MOMENT)
      // The separators are at odd places, since the pattern has a group.
      .map((part, at) => (at % 2 === 1 ? <Time key={at} at={part} /> : part))}
  </>
)

const toastText = signal('')
let toastTimer: ReturnType<typeof setTimeout> | undefined

/** Shows a short message for a few seconds. */
export function toast(text: string): void {
  toastText.value = text
  clearTimeout(toastTimer)
  toastTimer = setTimeout(() => (toastText.value = ''), 4000)
}

export const Toasts = (): JSX.Element => (
  <div id="toasts" role="status">
    {toastText.value !== '' && <div class="toast">{toastText.value}</div>}
  </div>
)

function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }): JSX.Element {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      toast('Copied')
    } catch {
      toast('The browser does not allow copying here. Select the text instead.')
    }
  }
  return (
    <button type="button" class="small" onClick={copy}>
      {label}
    </button>
  )
}

/** A command or value to copy. */
export const Snippet = ({ text, label }: { text: string; label: string }): JSX.Element => (
  <div class="snippet">
    <pre tabIndex={0} aria-label={label}>
      {text}
    </pre>
    <CopyButton text={text} />
  </div>
)

export function Dialog(props: {
  label: string
  close: () => void
  children: ComponentChildren
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    <dialog ref={dialog} aria-label={props.label} onClose={props.close}>
      <h2>{props.label}</h2>
      {props.children}
    </dialog>
  )
}
