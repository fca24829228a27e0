import type { JSX } from 'preact'
import { call } from '#ui/dashboard/api.ts'
import type { Page as ApiPage } from '#client/types.ts'
import { kindNamed } from '#contract/kinds/index.ts'
import { common, type ControlProps } from '#ui/dashboard/kinds/control-props.ts'
import type { Control } from '#ui/dashboard/kinds/form-model.ts'
import { collectionOfKind, keyOf, nameOf, type Resource } from '#ui/dashboard/kinds/resource.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'

interface Choice {
  readonly id: string
  readonly name: string
}

interface Choices {
  readonly all: readonly Choice[]
  /** False when there are more than one page of them. */
  readonly isComplete: boolean
}

async function choicesOf(names: readonly string[]): Promise<Choices> {
  const pages = await Promise.all(
    names.map(async name => {
      const kind = kindNamed(name)
      const page = (await call(collectionOfKind(name) ?? '', 'list')) as ApiPage<Resource>
      return {
        choices: page.items.map(item => ({ id: keyOf(kind, item), name: nameOf(kind, item) })),
        isComplete: page.next === undefined,
      }
    }),
  )
  return {
    all: pages.flatMap(({ choices }) => choices),
    isComplete: pages.every(({ isComplete }) => isComplete),
  }
}

/** Chooses another resource: from a list, or by id when there are too many or the list cannot be read. */
export function ReferenceControl(props: ControlProps<Extract<Control, { type: 'reference' }>>): JSX.Element {
  const { control, change } = props
  const value = typeof props.value === 'string' ? props.value : ''
  const { value: choices } = useLoaded(control.kinds.join(), () => choicesOf(control.kinds), {
    on: ({ kind }) => control.kinds.includes(kind),
  })
  const all = choices?.all ?? []
  const label = ({ id, name }: Choice): string => (name === id ? id : `${name} (${id})`)
  if (!choices?.isComplete)
    return (
      <>
        <input
          {...common(props)}
          list={`f-${props.path}-ids`}
          placeholder="Id"
          autocomplete="off"
          spellcheck={false}
          value={value}
          onInput={event => change(event.currentTarget.value || undefined)}
        />
        <datalist id={`f-${props.path}-ids`}>
          {all.map(choice => (
            <option key={choice.id} value={choice.id}>
              {label(choice)}
            </option>
          ))}
        </datalist>
      </>
    )
  const isUnknown = value !== '' && !all.some(({ id }) => id === value)
  return (
    <select
      {...common(props)}
      value={value}
      onChange={event => change(event.currentTarget.value || undefined)}
    >
      <option value="">Not set</option>
      {isUnknown && <option value={value}>{value}</option>}
      {all.map(choice => (
        <option key={choice.id} value={choice.id}>
          {label(choice)}
        </option>
      ))}
    </select>
  )
}
