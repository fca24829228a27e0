import type { failoverBackend as contract } from '#contract/kinds/backends.ts'
import type { Stored } from '#contract/shape.ts'
import type { Backend, BuildBackend } from '#gateway/backends/backend.ts'
import { canRetry } from '#gateway/backends/retry.ts'
import { unreached } from '#gateway/backends/unreached.ts'
import type { Endpoint } from '#http/exchange.ts'
import { DialError } from '#registry/agent-dialer.ts'

interface Child {
  readonly id: string
  readonly backend: Backend
}

/** Uses the first reachable backend. A request that was sent to one is never sent to the next. */
export const failoverBackend: BuildBackend = ({ id, body }, parts) => {
  const { backends } = body as Stored<typeof contract.shape>
  const children = backends.map((child): Child => ({ id: child, backend: parts.child(child) }))
  return {
    answer: answerFrom(id, children),
    dial: dialOf(children),
    close: () => children.forEach(({ backend }) => backend.close()),
  }
}

const answerFrom =
  (id: string, children: readonly Child[]): Endpoint =>
  async exchange => {
    let attemptsLeft = children.length
    for (const child of children) {
      const reply = await child.backend.answer(exchange)
      if (reply.failure === undefined || exchange.clientAbort.aborted) return reply
      attemptsLeft--
      const isSent = reply.failure === 'no-response'
      const failed = { isSent, isBodyRead: isSent, hasResponse: false, mayResend: false, attemptsLeft }
      if (!canRetry(exchange.head, failed)) return reply
      exchange.context.note(`backend ${child.id}: ${reply.refusal ?? reply.failure}`)
      reply.body.cancel()
    }
    exchange.context.upstream.backendId = id
    return unreached('backend_childless', exchange)
  }

function dialOf(children: readonly Child[]): Backend['dial'] {
  const dials = children.flatMap(({ backend }) => backend.dial ?? [])
  if (dials.length === 0) return undefined
  return async (client, first) => {
    let failure: unknown
    for (const dial of dials) {
      try {
        return await dial(client, first)
      } catch (error) {
        if (!(error instanceof DialError)) throw error
        failure = error
      }
    }
    throw failure
  }
}
