import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import UPlot from 'uplot'

const HEIGHT = 150

const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name)

/** A colour of the style sheet for the canvas, which does not know light-dark(). */
function resolved(name: string): string {
  const probe = document.createElement('span')
  probe.style.color = colour(name)
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

const series = (label: string, name: string) => {
  const stroke = resolved(name)
  return { label, stroke, width: 1.5, points: { show: false } }
}

const DAY = 86_400

/** The text at the time axis, in the form of the browser's language; `step` is the time between two of them. */
function tickText(at: number, step: number): string {
  const date = new Date(at * 1000)
  if (step >= DAY) return date.toLocaleDateString([], { month: 'short', day: 'numeric' })
  const seconds = step < 60 ? { second: '2-digit' as const } : {}
  const isMidnight = step >= 3600 && date.getHours() === 0
  return isMidnight
    ? date.toLocaleDateString([], { month: 'short', day: 'numeric' })
    : date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', ...seconds })
}

interface ChartLine {
  readonly label: string
  /** A colour of the style sheet, such as --accent. */
  readonly colour: string
  readonly values: readonly number[]
}

/** Lines over time. Their number, labels and colours stay the same while it is shown. */
export function LineChart(props: {
  label: string
  /** Unix times. */
  times: readonly number[]
  lines: readonly ChartLine[]
}): JSX.Element {
  const { times, lines } = props
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  useEffect(() => {
    const parent = box.current
    if (!parent) return
    const axis = { stroke: resolved('--dim'), grid: { stroke: resolved('--line'), width: 1 } }
    const time = {
      ...axis,
      size: 32,
      space: 110,
      values: (_: UPlot, ticks: number[], __: number, ___: number, step: number) =>
        ticks.map(at => tickText(at, step)),
    }
    const made = new UPlot(
      {
        width: parent.clientWidth,
        height: HEIGHT,
        // Room for one half of the last time.
        padding: [null, 34, null, null],
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_, __, max) => [0, Math.max(1, max)] } },
        axes: [time, { ...axis, size: 40 }],
        series: [{}, ...lines.map(line => series(line.label, line.colour))],
      },
      [[], ...lines.map(() => [])],
      parent,
    )
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: parent.clientWidth, height: HEIGHT }))
    observer.observe(parent)
    return () => {
      observer.disconnect()
      made.destroy()
    }
  }, [])
  useEffect(() => {
    plot.current?.setData([[...times], ...lines.map(({ values }) => [...values])])
  }, [times, lines])
  return <div ref={box} class="chart" role="img" aria-label={props.label} />
}
