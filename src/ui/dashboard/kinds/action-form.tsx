import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Action } from '#contract/kind.ts'
import { titleOf } from '#contract/names.ts'
import { call } from '#ui/dashboard/api.ts'
import { addressOf, type ResourceLocator } from '#ui/dashboard/kinds/resource-locator.ts'
import { formFields } from '#ui/dashboard/kinds/form-model.ts'
import { Form } from '#ui/dashboard/kinds/form-page.tsx'
import { kindOf, type Resource } from '#ui/dashboard/kinds/resource.ts'
import { Fields } from '#ui/dashboard/kinds/value.tsx'

/** Actions that ask for something and show a result, such as whether an address is allowed. */
export function ActionForms({ at }: { at: ResourceLocator }): JSX.Element {
  const actions = Object.entries(kindOf(at.collection).actions)
  return (
    <>
      {actions.map(([name, action]) =>
        action.input && action.output && !action.onCollection ? (
          <ActionForm key={name} at={at} name={name} action={action} />
        ) : null,
      )}
    </>
  )
}

function ActionForm(props: { at: ResourceLocator; name: string; action: Action }): JSX.Element {
  const { at, name, action } = props
  const [result, setResult] = useState<Resource>()
  const address = addressOf(at)
  return (
    <section aria-label={titleOf(name)}>
      <h2>{titleOf(name)}</h2>
      <p class="hint">{action.doc}</p>
      <Form
        fields={formFields(action.input ?? {}, 'create')}
        start={{}}
        submit={titleOf(name)}
        save={async draft => {
          setResult(undefined)
          setResult((await call(at.collection, name, ...address, draft)) as Resource)
        }}
        asCall={draft => ({ collection: at.collection, word: name, params: address, body: draft })}
        cancel={null}
      />
      {result && (
        <div class="card" role="status" aria-label="Result">
          <Fields entries={Object.entries(result)} />
        </div>
      )}
    </section>
  )
}
