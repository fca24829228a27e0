import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { IdLink } from '#ui/dashboard/kinds/value.tsx'
import { useLoaded, type Loaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { toast } from '#ui/dashboard/shell/parts.tsx'

/** Captures end by time, without a change. */
const LOOK_MS = 10_000
const SECONDS = 600
/** Those whose changes turn capture on or off. */
const kinds = new Set(['capture', 'https_edge_route', 'https_edge', 'endpoint_configuration', 'tunnel'])

/** What a capture records. */
type CaptureTarget = { readonly host: string } | { readonly edge_id: string } | { readonly route_id: string }

type ActiveCapture = Awaited<ReturnType<typeof api.captures.list>>['items'][number]

type Always = Awaited<ReturnType<typeof api.status>>['captured']

interface CaptureState {
  /** Captures that have not ended. */
  readonly active: readonly ActiveCapture[]
  /** What is captured all the time. */
  readonly always: Always
  /** That of the server, from the same response. */
  readonly domain: string
}

export function useCaptureState(): Loaded<CaptureState> {
  return useLoaded(
    'capture state',
    async () => {
      const [{ items }, { captured, domain }] = await Promise.all([api.captures.list(), api.status()])
      const now = Date.now()
      return {
        active: items.filter(({ expires_at: end }) => Date.parse(end) > now),
        always: captured,
        domain,
      }
    },
    { on: ({ kind }) => kinds.has(kind), everyMs: LOOK_MS },
  )
}

const clock = (at: string): string => new Date(at).toTimeString().slice(0, 5)

/** Shows in the head of every page that something is being captured. */
export function CaptureMark({ state }: { state: CaptureState | undefined }): JSX.Element | null {
  if (!state || state.always.length + state.active.length === 0) return null
  return (
    <a class="capture-mark" href={href(['captures'])}>
      Capture on
    </a>
  )
}

const fits = (capture: ActiveCapture, target: CaptureTarget): boolean =>
  Object.entries(target).every(([name, value]) => capture[name as 'host'] === value)

async function attempt(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    toast(error instanceof Error ? error.message : String(error))
  }
}

/** Why all requests are captured. */
const reasons = {
  setting: 'the setting traffic_full_capture',
  route: 'the option capture of the route',
  configuration: 'the option capture of the endpoint configuration',
  agent: 'the option --capture of the agent',
} as const

/** The edge of a route has the page where its option is changed. */
function CapturedLink({ of: { id, edge_id: edge, name } }: { of: Always[number] }): JSX.Element {
  return id === null ? <>Every request</> : <IdLink id={edge ?? id} name={name ?? id} />
}

/** What is captured all the time, with the reason. */
export function AlwaysCaptured(): JSX.Element | null {
  const { value } = useCaptureState()
  if (!value || value.always.length === 0) return null
  return (
    <section class="card" aria-label="Captured all the time">
      <h2>Captured all the time</h2>
      <ul class="values">
        {value.always.map(each => (
          <li key={`${each.by} ${each.id}`}>
            <CapturedLink of={each} />, by {reasons[each.by]}
          </li>
        ))}
      </ul>
    </section>
  )
}

interface SwitchProps {
  readonly target: CaptureTarget
  /** The target in words. */
  readonly what: string
  /** What captures all of its requests. */
  readonly by?: keyof typeof reasons | null | undefined
  /** The route and the tunnel of a request, which may capture all. */
  readonly ids?: readonly (string | null)[]
}

/** Captures headers and bodies for ten minutes, or shows that this is being done. */
export function CaptureSwitch({ target, what, by, ids = [] }: SwitchProps): JSX.Element | null {
  const { value, reload } = useCaptureState()
  if (!value) return null
  const always = value.always.find(({ by: given, id }) => given === 'setting' || ids.includes(id))
  const reason = always?.by ?? by
  if (reason) return <span class="dot on">Capture on, by {reasons[reason]}</span>
  const found = value.active.find(capture => fits(capture, target))
  const start = (): Promise<void> =>
    attempt(api.captures.create({ ...target, duration: SECONDS }).then(reload))
  if (!found)
    return (
      <button type="button" onClick={() => void start()}>
        Capture {what} for 10 minutes
      </button>
    )
  return (
    <span class="actions">
      <span class="dot on" role="status">
        Capture on until {clock(found.expires_at)}
      </span>
      <button
        type="button"
        class="small"
        onClick={() => void attempt(api.captures.delete(found.id).then(reload))}
      >
        Stop
      </button>
    </span>
  )
}
