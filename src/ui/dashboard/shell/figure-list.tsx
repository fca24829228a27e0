import type { JSX } from 'preact'

/** A few large figures with their names. */
export const FigureList = ({
  shown,
}: {
  shown: readonly (readonly [name: string, value: string])[]
}): JSX.Element => (
  <dl class="figures">
    {shown.map(([name, value]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)
