import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { common, type ControlProps } from '#ui/dashboard/kinds/control-props.ts'
import type { Control } from '#ui/dashboard/kinds/form-model.ts'

export function TextControl(props: ControlProps<Extract<Control, { type: 'text' }>>): JSX.Element {
  const { control, value, change, isSecret } = props
  const shared = {
    ...common(props),
    dir: 'auto' as const,
    autocomplete: 'off',
    spellcheck: false,
    placeholder: control.fallback ?? '',
    value: typeof value === 'string' ? value : '',
  }
  if (control.isLong)
    return <textarea {...shared} rows={3} onInput={event => change(event.currentTarget.value)} />
  const enter = (event: Event): void => {
    if (event.currentTarget instanceof HTMLInputElement) change(event.currentTarget.value)
  }
  return isSecret ? (
    <input {...shared} type="password" autocomplete="new-password" onInput={enter} />
  ) : (
    <input {...shared} type="text" onInput={enter} />
  )
}

/** A value whose form is not declared. What is not JSON yet stays in the field. */
export function JsonControl(props: ControlProps): JSX.Element {
  const [text, setText] = useState(props.value === undefined ? '' : JSON.stringify(props.value, null, 2))
  const [problem, setProblem] = useState('')
  const enter = (given: string): void => {
    setText(given)
    try {
      props.change(given.trim() === '' ? undefined : (JSON.parse(given) as unknown))
      setProblem('')
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
  }
  return (
    <>
      <textarea
        {...common(props)}
        rows={4}
        spellcheck={false}
        placeholder="{}"
        value={text}
        onInput={event => enter(event.currentTarget.value)}
      />
      {problem !== '' && <p class="error">{problem}</p>}
    </>
  )
}
