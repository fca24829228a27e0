import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '#client/errors.ts'
import type { Collection } from '#contract/kinds/index.ts'
import { titleOf, wordsOf } from '#contract/names.ts'
import { call, operationOf } from '#ui/dashboard/api.ts'
import { CopyAsCall } from '#ui/dashboard/kinds/api-call.tsx'
import { FormError, Group } from '#ui/dashboard/kinds/controls.tsx'
import { addressOf, useResource, type ResourceLocator } from '#ui/dashboard/kinds/resource-locator.ts'
import {
  asWritten,
  changedBody,
  controlPath,
  removedNames,
  type FormValues,
} from '#ui/dashboard/kinds/draft.ts'
import { formFields } from '#ui/dashboard/kinds/form-model.ts'
import { rememberCreated } from '#ui/dashboard/kinds/just-created.ts'
import { keyOf, kindOf, nameOf, resourceHref, type Resource } from '#ui/dashboard/kinds/resource.ts'
import { go, place } from '#ui/dashboard/router.ts'
import { ErrorBox, PageHead, Shown, toast } from '#ui/dashboard/shell/parts.tsx'

/** The fields that most people need, for the longest forms; all others can be opened. */
const mainFields: Partial<Record<Collection, readonly string[]>> = {
  https_edges: ['description', 'hostports'],
  https_edge_routes: ['description', 'match_type', 'match', 'backend'],
  reserved_domains: ['name', 'description'],
}

/** The form that creates a resource of any kind. The query of the address fills in fields. */
export function CreatePage({ collection }: { collection: Collection }): JSX.Element {
  const kind = kindOf(collection)
  const fields = formFields(kind.shape, 'create')
  const { parent, ...given } = Object.fromEntries(place.value.query)
  const above = parent === undefined ? [] : [parent]
  const create = async (draft: FormValues): Promise<void> => {
    const made = (await call(collection, 'create', ...above, draft)) as Resource
    const id = keyOf(kind, made)
    rememberCreated(id, made)
    toast(`Created ${nameOf(kind, made)}`)
    go(resourceHref(collection, id, parent))
  }
  return (
    <>
      <PageHead title={`New ${wordsOf(kind.name)}`} sub={kind.doc} />
      <Form
        fields={fields}
        main={mainFields[collection]}
        start={Object.fromEntries(
          Object.entries(given).filter(([name]) => fields.some(field => field.name === name)),
        )}
        submit="Create"
        save={create}
        asCall={draft => ({ word: 'create', collection, params: above, body: draft })}
      />
    </>
  )
}

/** The form that changes a resource of any kind. Only what was changed is sent. */
export function EditPage(at: ResourceLocator): JSX.Element {
  const kind = kindOf(at.collection)
  const fields = formFields(kind.shape, 'update')
  return (
    <Shown of={useResource(at)} title={`Edit ${wordsOf(kind.name)}`}>
      {resource => {
        const before = asWritten(kind.shape, resource)
        const save = async (draft: FormValues): Promise<void> => {
          // Null does not remove a module; an operation of its own does.
          for (const name of removedNames(before, draft))
            if (Object.hasOwn(kind.modules, name))
              await call(at.collection, `delete_${name}`, ...addressOf(at))
          const body = changedBody(fields, before, draft)
          if (Object.keys(body).length > 0) await call(at.collection, 'update', ...addressOf(at), body)
          toast('Saved')
          go(resourceHref(at.collection, at.id, at.parent))
        }
        return (
          <>
            <PageHead title={`Edit ${nameOf(kind, resource)}`} sub={`${titleOf(kind.name)} ${at.id}`} />
            <Form
              fields={fields}
              start={before}
              submit="Save"
              save={save}
              asCall={draft => ({
                word: 'update',
                collection: at.collection,
                params: addressOf(at),
                body: changedBody(fields, before, draft),
              })}
            />
          </>
        )
      }}
    </Shown>
  )
}

interface FormCall {
  readonly collection: string
  readonly word: string
  readonly params: readonly string[]
  readonly body: FormValues
}

/** A form of the contract; `cancel` goes back unless it is given, and null leaves it out. */
export function Form(props: {
  fields: ReturnType<typeof formFields>
  /** The names of those that are always shown; by default all are. */
  main?: readonly string[] | undefined
  start: FormValues
  submit: string
  save: (draft: FormValues) => Promise<void>
  asCall: (draft: FormValues) => FormCall
  cancel?: (() => void) | null
}): JSX.Element {
  const [draft, setDraft] = useState(props.start)
  const [error, setError] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const path =
    error instanceof ApiError && error.field !== undefined
      ? controlPath(error.field, each => document.querySelector(`#${CSS.escape(`f-${each}`)}`) !== null)
      : undefined
  useEffect(() => {
    if (path !== undefined) document.querySelector<HTMLElement>(`#${CSS.escape(`f-${path}`)}`)?.focus()
  }, [error, path])
  const submit = async (): Promise<void> => {
    setIsBusy(true)
    setError(undefined)
    try {
      await props.save(draft)
    } catch (cause) {
      setError(cause instanceof Error ? cause : new Error(String(cause)))
    }
    setIsBusy(false)
  }
  const { collection, word, params, body } = props.asCall(draft)
  const { main, fields, start } = props
  const shown = main?.flatMap(name => fields.find(field => field.name === name) ?? []) ?? fields
  const others = fields.filter(field => !shown.includes(field))
  const isOpen = others.some(({ name }) => start[name] !== undefined)
  const isInvalid = (all: typeof fields): boolean =>
    path !== undefined && all.some(({ name }) => path === name || path.startsWith(`${name}.`))
  const operation = operationOf(collection, word)
  return (
    <form
      class="card form"
      noValidate
      onSubmit={event => {
        event.preventDefault()
        void submit()
      }}
    >
      <FormError.Provider value={path === undefined ? undefined : { path, message: error?.message ?? '' }}>
        <Group fields={shown} value={draft} change={setDraft} path="" />
        {others.length > 0 && (
          <details class="more" open={isOpen || isInvalid(others) || undefined}>
            <summary>More fields</summary>
            <Group fields={others} value={draft} change={setDraft} path="" />
          </details>
        )}
      </FormError.Provider>
      {error && path === undefined && <ErrorBox error={error} />}
      <div class="actions">
        <button type="submit" class="primary" disabled={isBusy}>
          {props.submit}
        </button>
        {props.cancel !== null && (
          <button type="button" onClick={props.cancel ?? (() => history.back())}>
            Cancel
          </button>
        )}
        {operation && <CopyAsCall operation={operation} params={params} body={body} />}
      </div>
    </form>
  )
}
