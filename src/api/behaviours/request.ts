import type { Call } from '#api/call.ts'
import { reasonFor } from '#api/request-reason.ts'
import { explainRoute } from '#api/behaviours/explain-route.ts'
import { replayTarget } from '#api/behaviours/replay-target.ts'
import { outboxEntry } from '#api/outbox-entry.ts'
import { findLive } from '#api/records.ts'
import type { CaptureRecord, ReplayOrder } from '#contract/request-history.ts'
import type { ResourceHooks } from '#api/resource-hooks.ts'
import { fail, Problem } from '#base/errors.ts'
import { serviceOf } from '#base/hints/service.ts'
import { isId } from '#base/ids.ts'
import { allows } from '#contract/access-rule.ts'
import type { ResourceBody } from '#contract/body.ts'
import { REPLAYED } from '#contract/events/index.ts'
import type { replayEdits } from '#contract/kinds/request-capture.ts'
import { request as kind } from '#contract/kinds/request.ts'
import { lackOf, type EndedRequest } from '#contract/request-responder.ts'
import type { Create } from '#contract/shape.ts'

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

/** The capture of a request, for the owner of its endpoint and admins. */
async function findCapture(id: string, call: Call): Promise<CaptureRecord> {
  const found = isId(id) ? await call.live.capture(id) : undefined
  if (found === undefined) {
    await findLive('request', id, call)
    return fail('not_captured', { id })
  }
  if (!allows(call.principal, 'secrets', kind, found.ownerId)) fail('captured_for_other', { id })
  return found
}

type Edits = Create<typeof replayEdits>

/** What to send: the capture with the caller's changes. */
async function orderOf(id: string, edits: Edits, call: Call): Promise<ReplayOrder> {
  const { via, method, path, headers, body, body_encoding: encoding, resign } = edits
  if (encoding === 'base64' && body !== undefined && !BASE64.test(body))
    fail('replay_body', { field: 'body' })
  const target = await replayTarget(edits, call)
  return {
    id,
    ip: call.ip,
    ...target,
    via: target.tunnelId === undefined ? (via ?? 'edge') : 'agent',
    method,
    path,
    headers: headers ?? [],
    resign: resign ?? false,
    body: body === undefined ? undefined : Buffer.from(body, encoding === 'base64' ? 'base64' : 'utf8'),
  }
}

async function replay(id: string, edits: Edits, call: Call): Promise<ResourceBody> {
  await findCapture(id, call)
  const order = await orderOf(id, edits, call)
  try {
    const { capture } = (await call.live.replay(order)) ?? fail('not_captured', { id })
    await recordReplay(order, { capture, edits }, call)
    return { request_id: capture['request_id'], capture }
  } catch (error) {
    // A refusal means that nothing was sent; after anything else it may have been.
    if (!(error instanceof Problem)) await recordReplay(order, { capture: {}, edits }, call)
    throw error
  }
}

/** Who replayed what, for the audit log. Neither query nor body: they may contain secrets. */
async function recordReplay(
  { id, via }: ReplayOrder,
  { capture, edits }: { readonly capture: ResourceBody; readonly edits: Edits },
  call: Call,
): Promise<void> {
  const { endpoint_id: endpoint, tunnel_id: tunnel } = edits
  const { method, target } = (capture['request'] ?? {}) as { method?: string; target?: string }
  const object = {
    id: capture['request_id'] ?? null,
    replay_of: id,
    via,
    ...(endpoint !== undefined && { endpoint_id: endpoint }),
    ...(tunnel !== undefined && { tunnel_id: tunnel }),
    method,
    path: target?.replace(/\?.*/s, ''),
  }
  await call.store.commit([outboxEntry(REPLAYED, object, call)])
}

export const request: ResourceHooks = {
  collectionQueries: { explain: explainRoute },
  liveQueries: {
    reason: async ({ id }, call) => {
      const found = (await findLive('request', id, call)) as EndedRequest
      const tunnel = found.tunnel_id === null ? undefined : await call.live.get('tunnel', found.tunnel_id)
      const forwardsTo = tunnel?.['forwards_to']
      return reasonFor(found, {
        service: serviceOf(typeof forwardsTo === 'string' ? forwardsTo : undefined),
        lacks: lackOf(found),
      })
    },
    capture: async ({ id }, call) => (await findCapture(id, call)).capture,
    replay: ({ id, body }, call) => replay(id, body, call),
  },
}
