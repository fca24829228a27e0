import type { JSX } from 'preact'
import { api } from '#ui/dashboard/api.ts'
import { useLoaded, type Loaded } from '#ui/dashboard/loaded.ts'
import { href } from '#ui/dashboard/router.ts'
import { toast } from '#ui/dashboard/shell/parts.tsx'

/** Captures end by time, without a change. */
const LOOK_MS = 10_000
const SECONDS = 600

/** What a capture records. */
type CaptureTarget = { readonly host: string } | { readonly edge_id: string } | { readonly route_id: string }

type ActiveCapture = Awaited<ReturnType<typeof api.captures.list>>['items'][number]

interface CaptureState {
  /** Captures that have not ended. */
  readonly active: readonly ActiveCapture[]
  /** By the setting traffic_full_capture. */
  readonly isForAll: boolean
}

function useCaptureState(): Loaded<CaptureState> {
  return useLoaded(
    'capture state',
    async () => {
      const [{ items }, { account }] = await Promise.all([api.captures.list(), api.self()])
      const now = Date.now()
      return {
        active: items.filter(({ expires_at: end }) => Date.parse(end) > now),
        isForAll: account.traffic_full_capture,
      }
    },
    { on: ({ kind }) => kind === 'capture', everyMs: LOOK_MS },
  )
}

const clock = (at: string): string => new Date(at).toTimeString().slice(0, 5)

/** Shows in the head of every page that something is being captured. */
export function CaptureMark(): JSX.Element | null {
  const { value } = useCaptureState()
  if (!value || !(value.isForAll || value.active.length > 0)) return null
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

/** Captures headers and bodies for ten minutes, or shows that this is being done. */
export function CaptureSwitch({ target, what }: { target: CaptureTarget; what: string }): JSX.Element | null {
  const { value, reload } = useCaptureState()
  if (!value) return null
  if (value.isForAll) return <span class="dot on">Capture on, by the setting traffic_full_capture</span>
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
