import { createContext, type JSX } from 'preact'
import { useContext } from 'preact/hooks'
import { isPlainObject } from '#base/plain-object.ts'
import { ListControl, MapControl } from '#ui/dashboard/kinds/collection-controls.tsx'
import { withValue, type FormValues } from '#ui/dashboard/kinds/draft.ts'
import { common, type ControlProps } from '#ui/dashboard/kinds/control-props.ts'
import type { Control, FormField } from '#ui/dashboard/kinds/form-model.ts'
import { ReferenceControl } from '#ui/dashboard/kinds/reference-control.tsx'
import { JsonControl, TextControl } from '#ui/dashboard/kinds/text-controls.tsx'

/** The error of the server for one control. */
export const FormError = createContext<{ readonly path: string; readonly message: string } | undefined>(
  undefined,
)

/** The fields of an object, one below the other. */
export function Group(props: {
  fields: readonly FormField[]
  value: FormValues
  change: (value: FormValues) => void
  path: string
}): JSX.Element {
  return (
    <>
      {props.fields.map(field => (
        <FieldRow
          key={field.name}
          field={field}
          path={props.path + field.name}
          value={props.value[field.name]}
          change={value => props.change(withValue(props.value, field.name, value))}
        />
      ))}
    </>
  )
}

function FieldRow(props: {
  field: FormField
  path: string
  value: unknown
  change: (value: unknown) => void
}): JSX.Element {
  const { field, path } = props
  const error = useContext(FormError)
  const message = error?.path === path ? error.message : undefined
  const isWide = ['group', 'list', 'map'].includes(field.control.type)
  return (
    <div class={`field ${isWide ? 'wide' : ''} ${message === undefined ? '' : 'invalid'}`}>
      {isWide ? (
        <span class="label">{field.title}</span>
      ) : (
        <label for={`f-${path}`}>
          {field.title}
          {field.isRequired && <span class="required"> required</span>}
        </label>
      )}
      <div class="control">
        <AnyControl
          control={field.control}
          value={props.value}
          change={props.change}
          path={path}
          label={field.title}
          isSecret={field.isSecret}
        />
        {message !== undefined && (
          <p class="error" role="alert">
            {message}
          </p>
        )}
        <p class="hint" id={`f-${path}-doc`}>
          {field.doc}
          {field.isSecret && ' It is not shown again.'}
        </p>
      </div>
    </div>
  )
}

function AnyControl(props: ControlProps): JSX.Element {
  const { control } = props
  switch (control.type) {
    case 'text':
      return <TextControl {...props} control={control} />
    case 'json':
      return <JsonControl {...props} />
    case 'reference':
      return <ReferenceControl {...props} control={control} />
    case 'list':
      return <ListControl {...props} control={control} render={AnyControl} />
    case 'map':
      return <MapControl {...props} control={control} render={AnyControl} />
    case 'group':
      return <GroupControl {...props} control={control} />
    case 'number':
      return <NumberControl {...props} control={control} />
    case 'choice':
      return <ChoiceControl {...props} control={control} />
    case 'switch':
      return (
        <input
          {...common(props)}
          type="checkbox"
          checked={typeof props.value === 'boolean' ? props.value : control.fallback}
          onChange={event => props.change(event.currentTarget.checked)}
        />
      )
  }
}

function NumberControl(props: ControlProps<Extract<Control, { type: 'number' }>>): JSX.Element {
  const { minimum, maximum, fallback } = props.control
  return (
    <input
      {...common(props)}
      type="number"
      min={minimum}
      max={maximum}
      step="any"
      placeholder={fallback === undefined ? '' : String(fallback)}
      value={typeof props.value === 'number' ? props.value : ''}
      onInput={event => {
        const given = event.currentTarget.value
        props.change(given === '' ? undefined : Number(given))
      }}
    />
  )
}

function ChoiceControl(props: ControlProps<Extract<Control, { type: 'choice' }>>): JSX.Element {
  const { values, fallback } = props.control
  return (
    <select
      {...common(props)}
      value={typeof props.value === 'string' ? props.value : ''}
      onChange={event => props.change(event.currentTarget.value || undefined)}
    >
      <option value="">{fallback === undefined ? 'Choose' : `Default: ${fallback}`}</option>
      {values.map(value => (
        <option key={value} value={value}>
          {value}
        </option>
      ))}
    </select>
  )
}

/** An object; an optional one is there while its box is checked. */
function GroupControl(props: ControlProps<Extract<Control, { type: 'group' }>>): JSX.Element {
  const { control, value, change, path, label } = props
  const draft = isPlainObject(value) ? value : undefined
  const isShown = draft !== undefined || !control.isOptional
  return (
    <fieldset id={`f-${path}`} tabIndex={-1}>
      <legend class="hidden">{label}</legend>
      {control.isOptional && (
        <label class="toggle">
          <input
            type="checkbox"
            checked={isShown}
            onChange={event => change(event.currentTarget.checked ? {} : undefined)}
          />
          Set {label}
        </label>
      )}
      {isShown && <Group fields={control.fields} value={draft ?? {}} change={change} path={`${path}.`} />}
    </fieldset>
  )
}
