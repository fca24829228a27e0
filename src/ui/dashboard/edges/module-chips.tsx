import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { isPlainObject } from '#base/plain-object.ts'
import { titleOf } from '#contract/names.ts'
import { call } from '#ui/dashboard/api.ts'
import { inRunOrder } from '#ui/dashboard/edges/route-order.ts'
import { Confirmed } from '#ui/dashboard/kinds/confirm.tsx'
import { addressOf, type ResourceLocator } from '#ui/dashboard/kinds/resource-locator.ts'
import { asWritten } from '#ui/dashboard/kinds/draft.ts'
import { formFields } from '#ui/dashboard/kinds/form-model.ts'
import { Form } from '#ui/dashboard/kinds/form-page.tsx'
import { kindOf, type Resource } from '#ui/dashboard/kinds/resource.ts'
import { Dialog, toast } from '#ui/dashboard/shell/parts.tsx'

/** The modules of a resource in the order in which they run; each opens its form. */
export function ModuleChips(props: { at: ResourceLocator; resource: Resource; label: string }): JSX.Element {
  const { at, resource } = props
  const [open, setOpen] = useState<string>()
  const names = Object.keys(kindOf(at.collection).modules)
  const set = inRunOrder(names.filter(name => isPlainObject(resource[name])))
  const others = names.filter(name => !set.includes(name))
  return (
    <div class="chips">
      <ol aria-label={props.label}>
        {set.map(name => (
          <li key={name}>
            <button
              type="button"
              class={isOff(resource[name]) ? 'chip off' : 'chip'}
              onClick={() => setOpen(name)}
            >
              {titleOf(name)}
              {isOff(resource[name]) && ' (off)'}
            </button>
          </li>
        ))}
      </ol>
      <select
        aria-label={`Add a module to ${props.label}`}
        value=""
        onChange={event => {
          setOpen(event.currentTarget.value || undefined)
          event.currentTarget.value = ''
        }}
      >
        <option value="">Add a module</option>
        {others.map(name => (
          <option key={name} value={name}>
            {titleOf(name)}
          </option>
        ))}
      </select>
      {open !== undefined && (
        <ModuleDialog
          key={open}
          at={at}
          name={open}
          value={resource[open]}
          close={() => setOpen(undefined)}
        />
      )}
    </div>
  )
}

const isOff = (value: unknown): boolean => isPlainObject(value) && value['enabled'] === false

function ModuleDialog(props: {
  at: ResourceLocator
  name: string
  value: unknown
  close: () => void
}): JSX.Element | null {
  const { at, name, value, close } = props
  const module = kindOf(at.collection).modules[name]
  if (!module) return null
  const address = addressOf(at)
  const isSet = isPlainObject(value)
  return (
    <Dialog label={titleOf(name)} close={close}>
      <p class="hint">{module.doc}</p>
      <Form
        fields={formFields(module.shape, 'create')}
        start={isSet ? asWritten(module.shape, value) : {}}
        submit="Save"
        save={async draft => {
          await call(at.collection, `replace_${name}`, ...address, draft)
          toast('Saved')
          close()
        }}
        asCall={draft => ({
          collection: at.collection,
          word: `replace_${name}`,
          params: address,
          body: draft,
        })}
        cancel={close}
      />
      {isSet && (
        <Confirmed
          label="Remove"
          isDangerous
          question={`Remove ${titleOf(name)}? Its configuration is lost.`}
          act={async () => {
            await call(at.collection, `delete_${name}`, ...address)
            toast('Removed')
            close()
          }}
        />
      )}
    </Dialog>
  )
}
