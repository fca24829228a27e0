import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Page as ApiPage } from '#client/types.ts'
import type { Kind } from '#contract/kind.ts'
import type { Collection } from '#contract/kinds/index.ts'
import { titleOf, wordsOf } from '#contract/names.ts'
import { isPaged } from '#contract/operations.ts'
import { call, operationOf } from '#ui/dashboard/api.ts'
import { AuditTable } from '#ui/dashboard/events/audit-table.tsx'
import type { AuditEvent } from '#ui/dashboard/events/audit-text.ts'
import { CopyAsCall } from '#ui/dashboard/kinds/api-call.tsx'
import { exampleFilter, kindOf, searchFilter, text, type Resource } from '#ui/dashboard/kinds/resource.ts'
import { reloading } from '#ui/dashboard/kinds/resource-locator.ts'
import { ResourceTable } from '#ui/dashboard/kinds/table.tsx'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { go, href, place } from '#ui/dashboard/router.ts'
import { listTitle } from '#ui/dashboard/sections.ts'
import { PageHead, Shown } from '#ui/dashboard/shell/parts.tsx'

const PAGE_SIZE = 100
const TYPING_MS = 300

/** A page of the collection, by the query of the address: text `q`, filters of the kind, `before`. */
async function loadPage(collection: Collection, query: URLSearchParams): Promise<ApiPage<Resource>> {
  const kind = kindOf(collection)
  const filter = searchFilter(kind, query.get('q') ?? '')
  const own = Object.keys(kind.filters ?? {}).flatMap(name => {
    const value = query.get(name)
    return value ? [[name, value]] : []
  })
  const page = {
    ...(isPaged(kind) && { limit: PAGE_SIZE }),
    ...(filter !== undefined && { filter }),
    ...(query.get('before') && { before_id: text(query.get('before')) }),
    ...Object.fromEntries(own),
  }
  return (await call(collection, 'list', page)) as ApiPage<Resource>
}

/** The list of any kind. */
export function ListPage({ collection }: { collection: Collection }): JSX.Element {
  const kind = kindOf(collection)
  const list = operationOf(collection, 'list')
  return (
    <>
      <PageHead title={listTitle(collection)} sub={kind.doc}>
        {list && <CopyAsCall operation={list} params={[]} />}
        {kind.verbs.includes('create') && (
          <a class="button primary" href={href([collection, 'new'])}>
            New
          </a>
        )}
      </PageHead>
      {list ? (
        <List collection={collection} kind={kind} />
      ) : (
        <p class="empty">These are not listed. Search for an id to open one.</p>
      )}
    </>
  )
}

const connectAgent = <a href={href(['connect'])}>Connect an agent</a>

/** The first step towards an entry of a list without "New". */
const howToBegin: Partial<Record<Collection, JSX.Element>> = {
  endpoints: <>{connectAgent} or create an edge to open one.</>,
  tunnels: <>{connectAgent} to open one.</>,
  tunnel_sessions: <>{connectAgent} to see it here.</>,
  captures: <>A capture is turned on here, or from the page of a request.</>,
  passkeys: <>Add yours in the menu with your name.</>,
  application_users: <>They appear when users sign in at an endpoint that is protected with sign-in.</>,
}

function List({ collection, kind }: { collection: Collection; kind: Kind }): JSX.Element {
  const { query } = place.value
  const loaded = useLoaded(`${collection}?${query}`, () => loadPage(collection, query), reloading(kind))
  return (
    <>
      <FilterBar collection={collection} kind={kind} />
      <Shown of={loaded}>
        {({ items, next }) => (
          <>
            {items.length === 0 ? (
              <p class="empty">
                {query.size > 0 ? (
                  'Nothing matches.'
                ) : (
                  <>
                    There are no {wordsOf(collection)} yet. {howToBegin[collection]}
                  </>
                )}
              </p>
            ) : (
              <ItemTable collection={collection} items={items} />
            )}
            <Pager collection={collection} isFirst={!query.has('before')} before={next?.before_id} />
          </>
        )}
      </Shown>
    </>
  )
}

/** Recorded changes have a table of their own: the author is not a field of the generic one. */
const ItemTable = ({
  collection,
  items,
}: {
  collection: Collection
  items: readonly Resource[]
}): JSX.Element =>
  collection === 'audit_events' ? (
    <AuditTable items={items as readonly AuditEvent[]} />
  ) : (
    <ResourceTable collection={collection} items={items} />
  )

const withQuery = (change: Readonly<Record<string, string>>): Record<string, string> => {
  const all = { ...Object.fromEntries(place.value.query), ...change }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''))
}

function Pager(props: {
  collection: Collection
  isFirst: boolean
  /** Where the next page begins; undefined on the last one. */
  before: string | undefined
}): JSX.Element | null {
  const { collection, isFirst, before } = props
  if (isFirst && before === undefined) return null
  return (
    <nav class="pager" aria-label="Pages">
      {!isFirst && <a href={href([collection], withQuery({ before: '' }))}>Newest</a>}
      {before !== undefined && <a href={href([collection], withQuery({ before }))}>Older</a>}
    </nav>
  )
}

function FilterBar({ collection, kind }: { collection: Collection; kind: Kind }): JSX.Element {
  const filters = Object.entries(kind.filters ?? {})
  const example = exampleFilter(kind)
  const set = (name: string, value: string): void =>
    go(href([collection], withQuery({ [name]: value, before: '' })), 'replace')
  return (
    <form class="bar" role="search" onSubmit={event => event.preventDefault()}>
      {isPaged(kind) && (
        <FilterInput
          key={`${collection} q`}
          name="q"
          label="Filter"
          placeholder={example === undefined ? 'Text' : `Text, or ${example}`}
          set={set}
        />
      )}
      {filters.map(([name, { doc, moment }]) =>
        moment ? (
          <MomentInput key={`${collection} ${name}`} name={name} title={doc} set={set} />
        ) : (
          <FilterInput
            key={`${collection} ${name}`}
            name={name}
            label={titleOf(name)}
            placeholder={titleOf(name)}
            title={doc}
            set={set}
          />
        ),
      )}
    </form>
  )
}

function FilterInput(props: {
  name: string
  label: string
  placeholder: string
  title?: string
  set: (name: string, value: string) => void
}): JSX.Element {
  const [value, setValue] = useState(place.value.query.get(props.name) ?? '')
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  return (
    <input
      type="search"
      aria-label={props.label}
      placeholder={props.placeholder}
      title={props.title}
      autocomplete="off"
      spellcheck={false}
      value={value}
      onInput={event => {
        const given = event.currentTarget.value
        setValue(given)
        clearTimeout(timer.current)
        timer.current = setTimeout(() => props.set(props.name, given), TYPING_MS)
      }}
    />
  )
}

const MINUTE_MS = 60_000

/** A time of the API as the input has it, in the time zone of the browser; empty if there is none. */
function localTime(moment: string): string {
  const time = Date.parse(moment)
  if (Number.isNaN(time)) return ''
  return new Date(time - new Date(time).getTimezoneOffset() * MINUTE_MS).toISOString().slice(0, 16)
}

const MomentInput = (props: {
  name: string
  title: string
  set: (name: string, value: string) => void
}): JSX.Element => (
  <label class="toggle" title={props.title}>
    {titleOf(props.name)}
    <input
      type="datetime-local"
      value={localTime(place.value.query.get(props.name) ?? '')}
      onChange={event => {
        const { value } = event.currentTarget
        props.set(props.name, value === '' ? '' : new Date(value).toISOString())
      }}
    />
  </label>
)
