import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import UPlot from 'uplot'
import type { Figures } from '#ui/dashboard/overview/figures.ts'

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

/** Requests and errors per second. */
export function TrafficChart({ figures }: { figures: Figures }): JSX.Element {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<UPlot>(undefined)
  useEffect(() => {
    const parent = box.current
    if (!parent) return
    const axis = { stroke: resolved('--dim'), grid: { stroke: resolved('--line'), width: 1 } }
    const made = new UPlot(
      {
        width: parent.clientWidth,
        height: HEIGHT,
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_, __, max) => [0, Math.max(1, max)] } },
        axes: [axis, { ...axis, size: 40 }],
        series: [{}, series('requests', '--accent'), series('errors', '--bad')],
      },
      [[], [], []],
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
    plot.current?.setData([[...figures.times], [...figures.requests], [...figures.errors]])
  }, [figures])
  return <div ref={box} class="chart" role="img" aria-label="Requests and errors per second" />
}
