import type { ServerResponse } from 'node:http'
import type { CaptureStore } from '#agent/capture/capture-store.ts'
import type { CapturedExchange } from '#agent/capture/exchange.ts'
import { summaryJson } from '#cli/agent/web/request-json.ts'

/** Changes are batched, so that a page keeps up with thousands of requests per second. */
const BATCH_MS = 100
/** Comments keep proxies from closing a quiet stream. */
const QUIET_MS = 15_000
/** A slower page gets the whole list again later. */
const MAX_UNREAD = 4 * 1_048_576

/** Sends the captured exchanges and then every change, as server-sent events. */
export function streamEvents(captures: CaptureStore, response: ServerResponse): void {
  const changed = new Set<CapturedExchange>()
  let isStale = true
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    timer = undefined
    if (response.writableLength > MAX_UNREAD) {
      isStale = true
      schedule()
      return
    }
    const kind = isStale ? 'list' : 'change'
    const exchanges = isStale ? captures.list() : [...changed]
    isStale = false
    changed.clear()
    response.write(`event: ${kind}\ndata: ${JSON.stringify(exchanges.map(summaryJson))}\n\n`)
  }
  const schedule = (): void => void (timer ??= setTimeout(flush, BATCH_MS))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  flush()
  const unsubscribe = captures.subscribe(event => {
    if (event.kind === 'cleared') isStale = true
    else changed.add(event.exchange)
    schedule()
  })
  const quiet = setInterval(() => response.write(':\n\n'), QUIET_MS)
  response.once('close', () => {
    unsubscribe()
    clearInterval(quiet)
    clearTimeout(timer)
  })
}
