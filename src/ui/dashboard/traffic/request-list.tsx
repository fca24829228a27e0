import { memo } from 'preact/compat'
import type { JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { EndedRequest } from '#contract/request-responder.ts'
import { milliseconds, reasonOf, totalMs } from '#ui/dashboard/traffic/request-text.ts'

const ROW_HEIGHT = 28
/** Rows above and below the visible ones, so that scrolling shows no gap. */
const MARGIN_ROWS = 8

interface Press {
  readonly id: string
  readonly y: number
}

const rowIdOf = (target: EventTarget | null): string | undefined =>
  target instanceof Element ? target.closest('.row')?.id : undefined

/** Opens the request that was pressed, even if another one is below the pointer when it is released. */
function usePress(props: { choose: (id: string) => void; open: (id: string) => void }): {
  onPointerDown: (event: PointerEvent) => void
  onClick: (event: MouseEvent) => void
} {
  const pressed = useRef<Press>(undefined)
  return {
    onPointerDown({ target, clientY: y }) {
      const id = rowIdOf(target)
      pressed.current = id === undefined ? undefined : { id, y }
      if (id !== undefined) props.choose(id)
    },
    onClick({ target, clientY, detail }) {
      const press = pressed.current
      pressed.current = undefined
      // Assistive technology clicks without a pointer.
      if (detail === 0) {
        const id = rowIdOf(target)
        if (id !== undefined) props.open(id)
      } else if (press && Math.abs(clientY - press.y) < ROW_HEIGHT) props.open(press.id)
    },
  }
}

/** A list of which only the visible rows are elements. */
export function RequestList(props: {
  rows: readonly EndedRequest[]
  chosen: string | undefined
  choose: (id: string) => void
  open: (id: string) => void
}): JSX.Element {
  const { rows, chosen } = props
  const box = useRef<HTMLDivElement>(null)
  const [top, setTop] = useState(0)
  const [height, setHeight] = useState(600)
  const newest = useRef<string | undefined>(undefined)
  const press = usePress(props)
  useEffect(() => {
    const measure = (): void => setHeight(box.current?.clientHeight ?? 600)
    measure()
    addEventListener('resize', measure)
    return () => removeEventListener('resize', measure)
  }, [])
  useLayoutEffect(() => {
    // New rows are above: without this, they would move the ones that are being read.
    const added = rows.findIndex(({ id }) => id === newest.current)
    if (box.current && added > 0 && box.current.scrollTop > 0) {
      box.current.scrollTop += added * ROW_HEIGHT
      setTop(box.current.scrollTop)
    }
    newest.current = rows[0]?.id
  }, [rows])
  useEffect(() => {
    const at = rows.findIndex(({ id }) => id === chosen)
    if (!box.current || at < 0) return
    const [from, to] = [at * ROW_HEIGHT, (at + 1) * ROW_HEIGHT]
    if (from < box.current.scrollTop) box.current.scrollTop = from
    else if (to > box.current.scrollTop + box.current.clientHeight)
      box.current.scrollTop = to - box.current.clientHeight
  }, [chosen])
  const first = Math.max(0, Math.floor(top / ROW_HEIGHT) - MARGIN_ROWS)
  const last = Math.min(rows.length, Math.ceil((top + height) / ROW_HEIGHT) + MARGIN_ROWS)
  return (
    <>
      <ColumnTitles />
      <div
        ref={box}
        class="requests"
        role="listbox"
        aria-label="Requests"
        tabIndex={0}
        aria-activedescendant={chosen}
        onScroll={event => setTop(event.currentTarget.scrollTop)}
        {...press}
      >
        <div class="spacer" role="presentation" style={{ height: `${rows.length * ROW_HEIGHT}px` }}>
          {rows.slice(first, last).map((request, index) => (
            // By place, not by request: with fast traffic every request is new, and the elements remain.
            <Row
              key={index}
              request={request}
              top={(first + index) * ROW_HEIGHT}
              isChosen={request.id === chosen}
            />
          ))}
        </div>
      </div>
    </>
  )
}

const titles = {
  time: 'Time',
  status: 'Status',
  method: 'Method',
  host: 'Host',
  path: 'Path',
  duration: 'Duration',
  client: 'Client',
  agent: 'Agent',
  reason: 'Reason',
} as const

/** The titles of the columns, for the eye only: a list box has no columns for assistive technology. */
const ColumnTitles = (): JSX.Element => (
  <div class="titles" aria-hidden="true">
    {Object.entries(titles).map(([name, title]) => (
      <span key={name} class={name}>
        {title}
      </span>
    ))}
  </div>
)

const Row = memo(function RequestRow(props: {
  request: EndedRequest
  top: number
  isChosen: boolean
}): JSX.Element {
  const { request } = props
  return (
    <div
      id={request.id}
      class="row"
      role="option"
      aria-selected={props.isChosen}
      style={{ transform: `translateY(${props.top}px)` }}
    >
      <span class="time">{new Date(request.started_at).toTimeString().slice(0, 8)}</span>
      <span class={`status s${Math.floor(request.status / 100)}`}>{request.status}</span>
      <span class="method">{request.method}</span>
      <span class="host" dir="auto" title={request.host}>
        {request.host}
      </span>
      <span class="path" dir="auto" title={request.path}>
        {request.path}
      </span>
      <span class="duration">{milliseconds(totalMs(request))}</span>
      <span class="client" title={request.ip}>
        {request.ip}
      </span>
      <span class="agent" dir="auto" title={request.agent ?? undefined}>
        {request.agent}
      </span>
      <span class="reason" title={reasonOf(request)}>
        {reasonOf(request)}
      </span>
    </div>
  )
})
