import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ReplayFailed } from '#ui/dashboard/capture/replay-failed.tsx'
import { go, href, place } from '#ui/dashboard/router.ts'
import { ErrorBox, PageHead } from '#ui/dashboard/shell/parts.tsx'
import { completions, parseFilter } from '#ui/dashboard/traffic/filter.ts'
import { RequestList } from '#ui/dashboard/traffic/request-list.tsx'
import type { EndedRequest } from '#contract/request-responder.ts'
import { useTraffic } from '#ui/dashboard/traffic/use-traffic.ts'
import { isTyping } from '#ui/typing.ts'

const TYPING_MS = 300
const MAX_HOSTS = 20

const hostsOf = (rows: readonly EndedRequest[]): string[] =>
  [...new Set(rows.map(({ host }) => host))].slice(0, MAX_HOSTS)

const open = (id: string): void => go(href(['requests', id]))

/** Requests as they end. */
export function TrafficPage(): JSX.Element {
  const text = place.value.query.get('filter') ?? ''
  const [isPaused, setIsPaused] = useState(false)
  const [chosen, setChosen] = useState<string>()
  const traffic = useTraffic(text, parseFilter(text), isPaused)
  const { rows } = traffic
  const input = useRef<HTMLInputElement>(null)
  useKeys({
    j: () => setChosen(neighbour(rows, chosen, 1)),
    ArrowDown: () => setChosen(neighbour(rows, chosen, 1)),
    k: () => setChosen(neighbour(rows, chosen, -1)),
    ArrowUp: () => setChosen(neighbour(rows, chosen, -1)),
    Enter: () => chosen !== undefined && open(chosen),
    '/': () => input.current?.focus(),
    r: () => chosen !== undefined && go(href(['requests', chosen], { replay: '' })),
    p: () => setIsPaused(!isPaused),
    x: traffic.clear,
  })
  return (
    <>
      <PageHead
        title="Traffic"
        sub={
          <span class="keyboard">
            Keys: j and k choose, Enter opens, / filters, r replays, p pauses, x clears.
          </span>
        }
      >
        <span class={`dot ${traffic.isOpen ? 'on' : ''}`} role="status">
          {isPaused ? `Paused, ${traffic.waiting} new` : traffic.isOpen ? 'Live' : 'Connecting …'}
        </span>
        <button type="button" aria-pressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Continue' : 'Pause'}
        </button>
        <ReplayFailed rows={rows} />
        <button type="button" onClick={traffic.clear}>
          Clear
        </button>
      </PageHead>
      <TrafficFilterBar text={text} hosts={hostsOf(rows)} input={input} />
      {traffic.error && <ErrorBox error={traffic.error} />}
      {traffic.dropped > 0 && (
        <p class="box warn">
          {traffic.dropped} requests were too fast for this page and are not shown. Use a filter.
        </p>
      )}
      {rows.length === 0 ? (
        <p class="empty">No requests yet. Open the address of an endpoint, and its requests appear here.</p>
      ) : (
        <RequestList rows={rows} chosen={chosen} choose={setChosen} open={open} />
      )}
    </>
  )
}

function neighbour(
  rows: readonly EndedRequest[],
  chosen: string | undefined,
  step: number,
): string | undefined {
  const at = rows.findIndex(({ id }) => id === chosen)
  return rows[at < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, at + step))]?.id
}

const CONTROLS = 'input, select, textarea, button, a, summary'

/** Keys of the page, while the focus is not in a control. */
function useKeys(keys: Readonly<Record<string, () => unknown>>): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target, CONTROLS)) return
      if (!Object.hasOwn(latest.current, event.key)) return
      event.preventDefault()
      latest.current[event.key]?.()
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

function TrafficFilterBar(props: {
  text: string
  hosts: readonly string[]
  input: { current: HTMLInputElement | null }
}): JSX.Element {
  const [text, setText] = useState(props.text)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  useEffect(() => () => clearTimeout(timer.current), [])
  const apply = (given: string): void =>
    go(href(['requests'], given.trim() === '' ? {} : { filter: given.trim() }), 'replace')
  return (
    <form
      class="bar"
      role="search"
      onSubmit={event => {
        event.preventDefault()
        clearTimeout(timer.current)
        apply(text)
      }}
    >
      <input
        ref={props.input}
        type="search"
        aria-label="Filter"
        placeholder="status:5xx host:shop.example.com"
        title="status:5xx host:shop.example.com failed:any path:/hooks ip:192.0.2.0/24, and words"
        list="traffic-completions"
        autocomplete="off"
        spellcheck={false}
        value={text}
        onInput={event => {
          const given = event.currentTarget.value
          setText(given)
          clearTimeout(timer.current)
          timer.current = setTimeout(() => apply(given), TYPING_MS)
        }}
        onKeyDown={event => {
          if (event.key !== 'Escape') return
          // Browsers clear the field, unless its suggestions are open.
          event.preventDefault()
          event.currentTarget.blur()
        }}
      />
      <datalist id="traffic-completions">
        {completions(text, props.hosts).map(each => (
          <option key={each} value={each} />
        ))}
      </datalist>
    </form>
  )
}
