import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { isPlainObject } from '#base/plain-object.ts'
import type { ControlProps, RenderControl } from '#ui/dashboard/kinds/control-props.ts'
import type { Control } from '#ui/dashboard/kinds/form-model.ts'

const without = <Item,>(items: readonly Item[], at: number): Item[] =>
  items.filter((_, index) => index !== at)
const replaced = <Item,>(items: readonly Item[], at: number, item: Item): Item[] => items.with(at, item)

const emptyOf = ({ type }: Control): unknown => {
  if (type === 'group' || type === 'map') return {}
  if (type === 'list') return []
  return type === 'text' || type === 'reference' ? '' : undefined
}

function Remove({ label, remove }: { label: string; remove: () => void }): JSX.Element {
  return (
    <button type="button" class="small" aria-label={`Remove ${label}`} onClick={remove}>
      ✕
    </button>
  )
}

const Add = ({ label, add }: { label: string; add: () => void }): JSX.Element => (
  <button type="button" class="small" aria-label={`Add to ${label}`} onClick={add}>
    Add
  </button>
)

/** Any number of values of one form. */
export function ListControl(
  props: ControlProps<Extract<Control, { type: 'list' }>> & { render: RenderControl },
): JSX.Element {
  const { control, change, path, label, render: AnyControl } = props
  const items: readonly unknown[] = Array.isArray(props.value) ? props.value : []
  return (
    <div id={`f-${path}`} tabIndex={-1} class="items">
      {items.map((item, at) => (
        <div key={at} class="item">
          <AnyControl
            control={control.item}
            value={item}
            change={value => change(replaced(items, at, value))}
            path={`${path}.${at}`}
            label={`${label} ${at + 1}`}
          />
          <Remove label={`${label} ${at + 1}`} remove={() => change(without(items, at))} />
        </div>
      ))}
      <Add label={label} add={() => change([...items, emptyOf(control.item)])} />
    </div>
  )
}

/** Names and values. Rows are kept as pairs while they are edited, since two names may be equal meanwhile. */
export function MapControl(
  props: ControlProps<Extract<Control, { type: 'map' }>> & { render: RenderControl },
): JSX.Element {
  const { control, change, path, label, render: AnyControl } = props
  const [rows, setRows] = useState<readonly (readonly [string, unknown])[]>(
    isPlainObject(props.value) ? Object.entries(props.value) : [],
  )
  const update = (next: readonly (readonly [string, unknown])[]): void => {
    setRows(next)
    change(Object.fromEntries(next.filter(([name]) => name !== '')))
  }
  return (
    <div id={`f-${path}`} tabIndex={-1} class="items">
      {rows.map(([name, value], at) => (
        <div key={at} class="item pair">
          <AnyControl
            control={control.keys}
            value={name}
            change={given => update(replaced(rows, at, [typeof given === 'string' ? given : '', value]))}
            path={`${path}.name${at}`}
            label={`${label} name ${at + 1}`}
          />
          <AnyControl
            control={control.value}
            value={value}
            change={given => update(replaced(rows, at, [name, given]))}
            path={`${path}.${name}`}
            label={`${label} value ${at + 1}`}
          />
          <Remove label={`${label} ${at + 1}`} remove={() => update(without(rows, at))} />
        </div>
      ))}
      <Add label={label} add={() => update([...rows, ['', emptyOf(control.value)]])} />
    </div>
  )
}
