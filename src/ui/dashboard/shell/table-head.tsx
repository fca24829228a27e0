import type { JSX } from 'preact'

/** The head of a table with one row of column names. */
export const TableHead = ({ columns }: { columns: readonly string[] }): JSX.Element => (
  <thead>
    <tr>
      {columns.map(name => (
        <th key={name} scope="col">
          {name}
        </th>
      ))}
    </tr>
  </thead>
)
