import type { JSX } from 'preact'
import type { Collection } from '#contract/kinds/index.ts'
import { titleOf } from '#contract/names.ts'
import {
  columnsOf,
  keyOf,
  kindOf,
  nameOf,
  resourceHref,
  type Resource,
} from '#ui/dashboard/kinds/resource.ts'
import { FieldValue, fieldTitle } from '#ui/dashboard/kinds/value.tsx'

/** Resources as a table; each row links to its page. */
export function ResourceTable(props: {
  collection: Collection
  items: readonly Resource[]
  parent?: string
  /** A column that has the same value in all rows. */
  without?: string | undefined
}): JSX.Element {
  const kind = kindOf(props.collection)
  const columns = columnsOf(kind, props.without)
  const title = titleOf(kind.name)
  return (
    <div class="table-box" tabIndex={0} role="region" aria-label={titleOf(props.collection)}>
      <table>
        <thead>
          <tr>
            <th scope="col">{title}</th>
            {columns.map(([name]) => (
              <th key={name} scope="col">
                {fieldTitle(name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {props.items.map(item => {
            const id = keyOf(kind, item)
            const name = nameOf(kind, item)
            return (
              <tr key={id}>
                <th scope="row">
                  <a href={resourceHref(props.collection, id, props.parent)} dir="auto">
                    {name}
                  </a>
                  {name !== id && <span class="dim id">{id}</span>}
                </th>
                {columns.map(([column]) => (
                  <td key={column} data-title={fieldTitle(column)}>
                    <FieldValue name={column} value={item[column]} />
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}
