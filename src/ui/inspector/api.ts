import type { Detail, Summary } from '#ui/captured.ts'
import type { EditedRequest } from '#ui/inspector/edit-view.ts'

interface TunnelInfo {
  readonly name: string
  readonly public_url: string
  readonly config: { readonly addr: string; readonly inspect: boolean }
}

async function call(path: string, options: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, options)
  if (response.ok) return response
  const { details } = (await response.json()) as { details: { err: string } }
  throw new Error(details.err)
}

export const loadDetail = async (id: string): Promise<Detail> =>
  (await (await call(`/api/requests/http/${encodeURIComponent(id)}`)).json()) as Detail

/** The gateway's record of a request, if the agent may read it. */
export interface RequestDiagnosis {
  readonly error_code: string | null
  readonly failed: string | null
  readonly modules: readonly { readonly name: string; readonly verdict: string }[]
  readonly notes: readonly string[]
  readonly modules_ms: number | null
  readonly backend_ms: number | null
}

/** Undefined if the agent may not read it. */
export async function loadReason(requestId: string): Promise<RequestDiagnosis | undefined> {
  const response = await call(`/api/gateway/requests/${encodeURIComponent(requestId)}`)
  return ((await response.json()) as { request?: RequestDiagnosis }).request
}

export const loadTunnels = async (): Promise<readonly TunnelInfo[]> =>
  ((await (await call('/api/tunnels')).json()) as { tunnels: TunnelInfo[] }).tunnels

export const loadStatus = async (): Promise<string> =>
  ((await (await call('/api/status')).json()) as { status: string }).status

export async function replay(id: string, request?: EditedRequest): Promise<void> {
  await call('/api/requests/http', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, ...(request && { request }) }),
  })
}

export const clearAll = async (): Promise<void> =>
  void (await call('/api/requests/http', { method: 'DELETE' }))

interface StreamHandlers {
  readonly list: (summaries: readonly Summary[]) => void
  readonly change: (summaries: readonly Summary[]) => void
  readonly connected: (isConnected: boolean) => void
}

/** Follows the captured exchanges; the browser reconnects automatically. */
export function follow({ list, change, connected }: StreamHandlers): void {
  const source = new EventSource('/inspect/events')
  const read = (event: MessageEvent<string>): readonly Summary[] => JSON.parse(event.data) as Summary[]
  source.addEventListener('open', () => connected(true))
  source.addEventListener('error', () => connected(false))
  source.addEventListener('list', event => list(read(event as MessageEvent<string>)))
  source.addEventListener('change', event => change(read(event as MessageEvent<string>)))
}
