import type { JSX } from 'preact'
import { isPlainObject } from '#base/plain-object.ts'
import { titleOf } from '#contract/names.ts'
import { nameOfId } from '#ui/dashboard/kinds/names.ts'
import { hrefOfId, isRef } from '#ui/dashboard/kinds/resource.ts'
import { useLoaded } from '#ui/dashboard/loaded.ts'
import { Time } from '#ui/dashboard/shell/parts.tsx'
import { TableHead } from '#ui/dashboard/shell/table-head.tsx'
import { milliseconds } from '#ui/dashboard/traffic/request-text.ts'

const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/
const ID = /^[a-z]{2,10}_[0-9A-Za-z]{20,}$/
/** IPv4, or the characters of IPv6. */
const IP = /^(\d{1,3}(\.\d{1,3}){3}|[\da-f]*:[\da-f:]*:[\da-f:.]*)$/

/** A link to the resource with an id, by its name if one is given. */
export function IdLink({ id, name = id }: { id: string; name?: string }): JSX.Element {
  const to = hrefOfId(id)
  if (to === undefined) return <code>{name}</code>
  return (
    <a href={to} dir="auto">
      {name}
    </a>
  )
}

/** The same by the name that the resource has now. */
export function NamedLink({ id }: { id: string }): JSX.Element {
  const { value: name } = useLoaded(`name of ${id}`, () => nameOfId(id), { on: change => change.id === id })
  return (
    <span title={id}>
      <IdLink id={id} name={name ?? id} />
    </span>
  )
}

function Text({ value }: { value: string }): JSX.Element {
  if (value === '') return <span class="dim">–</span>
  if (MOMENT.test(value)) return <Time at={value} />
  if (ID.test(value)) return <NamedLink id={value} />
  if (/^https?:\/\/[^/\s]+\/?$/.test(value))
    return (
      <a href={value} target="_blank" rel="noreferrer" dir="auto">
        {value}
      </a>
    )
  if (IP.test(value)) return <span class="unbroken">{value}</span>
  if (value.includes('\n')) return <pre tabIndex={0}>{value}</pre>
  return <span dir="auto">{value}</span>
}

type Row = Readonly<Record<string, unknown>>

const isFlat = (value: unknown): value is Row =>
  isPlainObject(value) && !isRef(value) && Object.values(value).every(each => typeof each !== 'object')

/** The rows of a list of objects with the same fields, such as DNS records. */
function rowsOf(list: readonly unknown[]): readonly Row[] | undefined {
  const rows = list.filter(isFlat)
  const fields = new Set(rows.map(each => Object.keys(each).join()))
  const isTable = rows.length > 1 && rows.length === list.length && fields.size === 1
  return isTable && Object.keys(rows[0] ?? {}).length > 1 ? rows : undefined
}

const Rows = ({ rows }: { rows: readonly Row[] }): JSX.Element => {
  const names = Object.keys(rows[0] ?? {})
  return (
    <div class="table-box" tabIndex={0}>
      <table>
        <TableHead columns={names.map(fieldTitle)} />
        <tbody>
          {rows.map((row, index) => (
            <tr key={index}>
              {names.map(name => (
                <td key={name} data-title={fieldTitle(name)}>
                  <FieldValue name={name} value={row[name]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Any value of a resource. All of it is shown as text. */
export function Value({ value }: { value: unknown }): JSX.Element {
  if (value === null || value === undefined) return <span class="dim">–</span>
  if (typeof value === 'string') return <Text value={value} />
  if (typeof value === 'boolean') return <span>{value ? 'yes' : 'no'}</span>
  // Without separators, since serial numbers and ports are numbers, too.
  if (typeof value === 'number') return <span>{String(value)}</span>
  if (isRef(value)) return <NamedLink id={value.id} />
  if (Array.isArray(value)) {
    if (value.length === 0) return <span class="dim">none</span>
    const rows = rowsOf(value)
    if (rows) return <Rows rows={rows} />
    return (
      <ul class="values">
        {value.map((each, index) => (
          <li key={index}>
            <Value value={each} />
          </li>
        ))}
      </ul>
    )
  }
  if (!isPlainObject(value)) return <span>{JSON.stringify(value)}</span>
  return <Fields entries={chosenOf(Object.entries(value))} />
}

/** Of a choice, such as the target of a destination, only the member that is set. */
function chosenOf(entries: readonly (readonly [string, unknown])[]): typeof entries {
  const chosen = entries.filter(([, value]) => value !== null)
  return chosen.length === 1 && chosen.some(([, value]) => isPlainObject(value)) ? chosen : entries
}

const MILLISECONDS = /_ms$/

/** The title of a field; the unit is part of its value. */
export const fieldTitle = (name: string): string =>
  name === 'owner_id' ? 'Owner' : titleOf(name.replace(MILLISECONDS, ''))

/** The same; a resource is shown by its name. */
const titleWith = (name: string, value: unknown): string =>
  fieldTitle(
    value === null || (typeof value === 'string' && ID.test(value)) ? name.replace(/_id$/, '') : name,
  )

/** The value of a field, with the unit that its name has. */
export const FieldValue = ({ name, value }: { name: string; value: unknown }): JSX.Element =>
  typeof value === 'number' && MILLISECONDS.test(name) ? (
    <span>{milliseconds(value)}</span>
  ) : (
    <Value value={value} />
  )

/** Names and values in two columns; the address of a resource in the API is not for people. */
export function Fields(props: { entries: readonly (readonly [string, unknown])[] }): JSX.Element {
  const entries = props.entries.filter(([name]) => name !== 'uri')
  if (entries.length === 0) return <span class="dim">none</span>
  return (
    <dl>
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt dir="auto">{titleWith(name, value)}</dt>
          <dd>
            <FieldValue name={name} value={value} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
