import type { JSX } from 'preact'

const WIDTH = 120
const HEIGHT = 24

/** A small line without axes, from zero to the largest value. */
export function Sparkline({ label, values }: { label: string; values: readonly number[] }): JSX.Element {
  const top = Math.max(1, ...values)
  const step = WIDTH / Math.max(1, values.length - 1)
  const points = values.map(
    (value, at) => `${(at * step).toFixed(1)},${(HEIGHT - 1 - (value / top) * (HEIGHT - 2)).toFixed(1)}`,
  )
  return (
    <svg class="sparkline" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={label}>
      <polyline points={points.join(' ')} />
    </svg>
  )
}
