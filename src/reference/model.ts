import type { CatalogEntry } from '#base/catalog/entry.ts'
import { catalog } from '#base/catalog.ts'
import { auditEvents, eventTypes } from '#contract/events/index.ts'
import type { Kind, Module } from '#contract/kind.ts'
import { kindNamed, kinds, type Collection } from '#contract/kinds/index.ts'
import { isPaged, operationsOf, type HttpMethod, type Operation } from '#contract/operations.ts'
import { exampleId, examples } from '#reference/examples.ts'
import { fieldLines, type FieldLine } from '#reference/fields.ts'
import { groupSpecs } from '#reference/groups.ts'
import { titleOf } from '#contract/names.ts'
import { dashboardCalls } from '#contract/dashboard.ts'
import { singletons, type Singleton } from '#contract/singletons.ts'

export interface OperationLine {
  readonly method: HttpMethod
  readonly path: string
  readonly summary: string
  readonly body: string
  readonly answer: string
}

/** A module as used by one collection. */
interface ModuleUse {
  readonly name: string
  readonly path: string
  readonly module: string
}

export interface CollectionEntry {
  readonly id: string
  readonly title: string
  readonly doc: string
  readonly prefix: string | undefined
  readonly notes: readonly string[]
  readonly fields: readonly FieldLine[]
  readonly operations: readonly OperationLine[]
  readonly modules: readonly ModuleUse[]
  /** Event types of its changes. */
  readonly events: readonly string[]
  readonly example: string
}

export interface Group {
  readonly id: string
  readonly title: string
  readonly doc: string
  readonly collections: readonly CollectionEntry[]
}

export interface ModuleEntry {
  readonly id: string
  readonly title: string
  readonly doc: string
  readonly fields: readonly FieldLine[]
  readonly usedBy: readonly { readonly collection: string; readonly title: string; readonly as: string }[]
}

interface ErrorEntry {
  readonly id: string
  readonly code: string
  readonly status: number
  readonly text: string
}

/** The complete reference, to be rendered as pages or Markdown. */
interface Reference {
  readonly groups: readonly Group[]
  readonly modules: readonly ModuleEntry[]
  readonly singletons: readonly OperationLine[]
  readonly errors: readonly ErrorEntry[]
  readonly otherEvents: readonly string[]
}

function bodyText({ input, method }: Operation): string {
  if (!input) return 'none'
  return method === 'PATCH' ? 'the fields to change' : 'the fields that can be written'
}

function answerText({ does, status, kind }: Operation): string {
  if (status === 204) return '204, no body'
  if ('action' in does) return '200, the result'
  if (!('verb' in does) || 'module' in does || does.verb !== 'list') return `${status}, the resource`
  const paging = isPaged(kind) ? ', next_page_uri' : ''
  return `200, { ${kind.listKey}: [...], uri${paging} }`
}

const operationLine = (operation: Operation): OperationLine => ({
  method: operation.method,
  path: operation.path,
  summary: operation.summary,
  body: bodyText(operation),
  answer: answerText(operation),
})

/** Replaces path parameters by made-up ids. */
const examplePath = (kind: Kind): string =>
  kind.path.replace(/\{\w+\}/g, () =>
    exampleId(kind.parent ? (kindNamed(kind.parent.kind).prefix ?? '') : ''),
  )

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** A request to paste: creates one if possible, lists otherwise. */
function curl(collection: Collection, kind: Kind): string {
  const body = kind.verbs.includes('create') ? (examples[collection] ?? {}) : undefined
  const lines = [`curl "$API${examplePath(kind)}"`, '-H "Authorization: Bearer $KEY"']
  if (body === undefined) return lines.join(' \\\n  ')
  const json = JSON.stringify(body, null, 2).replaceAll('\n', '\n  ')
  return [...lines, '-H "Content-Type: application/json"', `-d ${quoted(json)}`].join(' \\\n  ')
}

function notesOf(kind: Kind): string[] {
  return [
    ...(kind.adminOnly ? ['Only admins may read or change these.'] : []),
    ...(kind.owned ? ['Members see and change only their own.'] : []),
    ...(kind.live ? ['Read only: the current online state.'] : []),
    ...(kind.inUse ? ['It cannot be deleted while another resource refers to it.'] : []),
  ]
}

function entryOf(collection: Collection, names: ReadonlyMap<Module, string>): CollectionEntry {
  const kind: Kind = kinds[collection]
  const changes = kind.verbs.includes('create') && kind.verbs.includes('update')
  const operations = operationsOf(collection, kind).filter(({ does }) => !('module' in does))
  return {
    id: collection,
    title: titleOf(collection),
    doc: kind.doc,
    prefix: kind.prefix,
    notes: notesOf(kind),
    fields: fieldLines(kind.shape, { changes, without: Object.keys(kind.modules) }),
    operations: operations.map(operationLine),
    modules: Object.entries(kind.modules).map(([name, module]) => {
      return { name, path: `${kind.path}/{id}/${name}`, module: names.get(module) ?? name }
    }),
    events: auditEvents(kind),
    example: curl(collection, kind),
  }
}

const all = Object.entries(kinds) as [Collection, Kind][]

/** Names every module once. If two share a name, the second is qualified by its collection. */
function nameModules(): Map<Module, string> {
  const names = new Map<Module, string>()
  for (const [collection, kind] of all) {
    for (const module of Object.values(kind.modules)) {
      if (names.has(module)) continue
      const taken = [...names.values()].includes(module.name)
      names.set(module, taken ? `${module.name}-${collection}` : module.name)
    }
  }
  return names
}

function moduleEntry(module: Module, id: string): ModuleEntry {
  const usedBy = all.flatMap(([collection, kind]) =>
    Object.entries(kind.modules).flatMap(([as, each]) =>
      each === module ? [{ collection, title: titleOf(collection), as }] : [],
    ),
  )
  const [name, only] = id.split('-')
  const title = titleOf(name ?? id) + (only === undefined ? '' : ` (${titleOf(only)})`)
  return { id, title, doc: module.doc, fields: fieldLines(module.shape, { changes: false }), usedBy }
}

const errorCode = (number: number): string => (Number.isFinite(number) ? `ERR_ADIT_${number}` : '')

/** In the order of their numbers; those without one come last. */
const errors: ErrorEntry[] = Object.entries<CatalogEntry>(catalog)
  .map(([id, { number, status, text }]) => ({ id, number: number ?? Infinity, status, text }))
  .toSorted((one, other) => (one.number < other.number ? -1 : Number(one.number > other.number)))
  .map(({ id, number, status, text }) => ({ id, code: errorCode(number), status, text }))

function build(): Reference {
  const names = nameModules()
  const placed = new Set(groupSpecs.flatMap(group => group.collections))
  const rest = all.map(([collection]) => collection).filter(collection => !placed.has(collection))
  const groups = groupSpecs.map(({ collections, ...group }, index) => {
    const members = index === groupSpecs.length - 1 ? [...collections, ...rest] : collections
    return { ...group, collections: members.map(collection => entryOf(collection, names)) }
  })
  const audited = new Set(all.flatMap(([, kind]) => auditEvents(kind)))
  return {
    groups: groups.filter(group => group.collections.length > 0),
    modules: [...names].map(([module, id]) => moduleEntry(module, id)).toSorted(byId),
    singletons: [
      ...Object.values<Singleton>(singletons).map(
        ({ method = 'GET', path, summary, filters }): OperationLine => {
          const query = filters ? `; query: ${Object.keys(filters).join(', ')}` : ''
          return { method, path, summary, body: `none${query}`, answer: '200' }
        },
      ),
      ...Object.values(dashboardCalls).map(({ method, path, summary, status, ...call }): OperationLine => {
        return { method, path, summary, body: 'input' in call ? 'JSON' : 'none', answer: String(status) }
      }),
    ],
    errors,
    otherEvents: [...eventTypes].filter(type => !audited.has(type)),
  }
}

const byId = (one: ModuleEntry, other: ModuleEntry): number => (one.id < other.id ? -1 : 1)

export const reference: Reference = build()
