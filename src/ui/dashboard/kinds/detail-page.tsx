import type { ComponentChildren, ComponentType, JSX } from 'preact'
import type { Action, Kind } from '#contract/kind.ts'
import { childrenOf } from '#contract/kinds/index.ts'
import { titleOf } from '#contract/names.ts'
import { call, operationOf } from '#ui/dashboard/api.ts'
import { addressOf, useResource, type ResourceLocator } from '#ui/dashboard/kinds/resource-locator.ts'
import { lazy } from '#ui/dashboard/shell/lazy.tsx'
import { CopyAsCall, type CallParts } from '#ui/dashboard/kinds/api-call.tsx'
import { Children } from '#ui/dashboard/kinds/children.tsx'
import { Confirmed } from '#ui/dashboard/kinds/confirm.tsx'
import { shownOnce } from '#ui/dashboard/kinds/just-created.ts'
import { kindOf, nameOf, resourceHref, type Resource } from '#ui/dashboard/kinds/resource.ts'
import { Fields } from '#ui/dashboard/kinds/value.tsx'
import { go, href } from '#ui/dashboard/router.ts'
import { PageHead, Shown, Snippet, toast } from '#ui/dashboard/shell/parts.tsx'

const CredentialUse = lazy(
  async () => (await import('#ui/dashboard/agents/credential-use.tsx')).CredentialUse,
)
const KeyUse = lazy(async () => (await import('#ui/dashboard/access/key-use.tsx')).KeyUse)

const ConnectedAgent = lazy(
  async () => (await import('#ui/dashboard/agents/connected-agent.tsx')).ConnectedAgent,
)

/** What a resource is used for, besides its own fields. */
const uses: Readonly<Record<string, ComponentType<{ id: string }>>> = {
  api_keys: KeyUse,
  credentials: CredentialUse,
  tunnel_sessions: ConnectedAgent,
}

const ActionForms = lazy(async () => (await import('#ui/dashboard/kinds/action-form.tsx')).ActionForms)

/** The page of one resource of any kind. */
export function DetailPage(at: ResourceLocator): JSX.Element {
  const loaded = useResource(at)
  return (
    <Shown of={loaded} title={titleOf(kindOf(at.collection).name)}>
      {resource => <Detail at={at} resource={resource} reload={loaded.reload} />}
    </Shown>
  )
}

function Detail(props: { at: ResourceLocator; resource: Resource; reload: () => void }): JSX.Element {
  const { at, resource, reload } = props
  const kind = kindOf(at.collection)
  const Use = uses[at.collection]
  return (
    <>
      <ResourceHead at={at} resource={resource} reload={reload} />
      <ShownOnce resource={resource} id={at.id} />
      <ResourceFields kind={kind} resource={resource} />
      {Use && <Use id={at.id} />}
      {Object.values(kind.actions).some(({ input }) => input) && <ActionForms at={at} />}
      <Children kind={kind} id={at.id} />
    </>
  )
}

/** Actions that need input or show a result have their own places. */
const isPlain = ([, { input, output }]: [string, Action]): boolean => !input && !output

/** Whether there is something to detach: the path of such an action names the field. */
const isPossible = ({ method, path }: Action, resource: Resource): boolean =>
  method !== 'DELETE' || resource[path.slice(1)] !== null

function callOf(at: ResourceLocator, word: string): CallParts | undefined {
  const operation = operationOf(at.collection, word)
  return operation && { operation, params: addressOf(at) }
}

/** The name of a resource with what can be done with it. */
export function ResourceHead(props: {
  at: ResourceLocator
  resource: Resource
  reload: () => void
  children?: ComponentChildren
}): JSX.Element {
  const { at, resource, reload } = props
  const kind = kindOf(at.collection)
  const read = callOf(at, 'get')
  const possible = Object.entries(kind.actions).filter(
    entry => isPlain(entry) && isPossible(entry[1], resource),
  )
  const [orders, removals] = [false, true].map(isRemoval =>
    possible.filter(([, { method }]) => (method === 'DELETE') === isRemoval),
  )
  const button = ([name, action]: [string, Action]): JSX.Element => (
    <Confirmed
      key={name}
      label={titleOf(name)}
      question={action.doc}
      call={callOf(at, name)}
      act={async () => {
        await call(at.collection, name, ...addressOf(at))
        // Agents and nodes accept an order before they carry it out.
        toast(`${titleOf(name)}: ${kind.live ? 'requested' : 'done'}`)
        reload()
      }}
    />
  )
  return (
    <PageHead title={nameOf(kind, resource)} sub={`${titleOf(kind.name)} ${at.id}`}>
      {props.children}
      {orders?.map(button)}
      {read && <CopyAsCall {...read} />}
      {kind.verbs.includes('update') && (
        <a class="button" href={resourceHref(at.collection, at.id, at.parent, ['edit'])}>
          Edit
        </a>
      )}
      {removals?.map(button)}
      {kind.verbs.includes('delete') && <DeleteButton at={at} kind={kind} name={nameOf(kind, resource)} />}
    </PageHead>
  )
}

function DeleteButton({ at, kind, name }: { at: ResourceLocator; kind: Kind; name: string }): JSX.Element {
  return (
    <Confirmed
      label="Delete"
      isDangerous
      question={
        <>
          Delete <strong dir="auto">{name}</strong>? This cannot be undone.
        </>
      }
      call={callOf(at, 'delete')}
      act={async () => {
        await call(at.collection, 'delete', ...addressOf(at))
        toast(`Deleted ${name}`)
        go(kind.parent && at.parent !== undefined ? parentHref(kind, at.parent) : href([at.collection]))
      }}
    />
  )
}

const parentHref = (kind: Kind, parent: string): string =>
  kind.parent?.kind === 'https_edge' ? href(['https_edges', parent]) : href(['event_subscriptions', parent])

/** What only the response that created the resource contained. */
function ShownOnce({ resource, id }: { resource: Resource; id: string }): JSX.Element | null {
  const secrets = shownOnce(id, resource)
  if (secrets.length === 0) return null
  return (
    <section class="box good" aria-label="Shown only once">
      <p>Copy it now: it is shown only once.</p>
      {secrets.map(([name, value]) => (
        <div key={name}>
          <h3>{titleOf(name)}</h3>
          <Snippet label={titleOf(name)} text={value} />
        </div>
      ))}
    </section>
  )
}

/** All fields, and each module that is set as a card. */
export function ResourceFields({ kind, resource }: { kind: Kind; resource: Resource }): JSX.Element {
  const isModule = (name: string): boolean => Object.hasOwn(kind.modules, name)
  // Parts that have a table of their own below.
  const isChild = (name: string): boolean =>
    childrenOf(kind.name).some(({ parent, listKey }) => parent !== undefined && listKey === name)
  // The heading has the id, and a token is only in the response that created it.
  const isElsewhere = (name: string, value: unknown): boolean =>
    name === 'id' || (name === 'token' && value === null)
  const entries = Object.entries(resource)
    .filter(([name, value]) => !isModule(name) && !isChild(name) && !isElsewhere(name, value))
    .toSorted(([, one], [, other]) => Number(isLong(one)) - Number(isLong(other)))
  const modules = Object.entries(resource).filter(([name, value]) => isModule(name) && value !== null)
  return (
    <>
      <section class="card" aria-label="Fields">
        <Fields entries={entries} />
      </section>
      {modules.map(([name, value]) => (
        <section key={name} class="card" aria-label={titleOf(name)}>
          <h2>{titleOf(name)}</h2>
          <p class="hint">{kind.modules[name]?.doc}</p>
          <Fields entries={Object.entries(value as Resource)} />
        </section>
      ))}
    </>
  )
}

/** Such as a certificate: it would separate the short fields. */
const isLong = (value: unknown): boolean => typeof value === 'string' && value.includes('\n')
