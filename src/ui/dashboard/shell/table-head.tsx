import type { JSX } from 'preact'

/** The head of a table with one row of column names; those of numbers are aligned like their cells. */
export const TableHead = (props: {
  columns: readonly string[]
  numeric?: readonly string[]
}): JSX.Element => (
  <thead>
    <tr>
      {props.columns.map(name => (
        <th key={name} scope="col" class={props.numeric?.includes(name) ? 'number' : ''}>
          {name}
        </th>
      ))}
    </tr>
  </thead>
)
