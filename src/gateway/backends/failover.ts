import type { failoverBackend as contract } from '#contract/kinds/backends.ts'
import type { Kept } from '#contract/shape.ts'
import type { Backend, BuildBackend } from '#gateway/backends/backend.ts'
import { unreached } from '#gateway/backends/unreached.ts'
import type { Endpoint } from '#gateway/exchange.ts'
import { DialError } from '#gateway/fleet.ts'

/** Asks the first backend that can be reached. What was sent to one is never sent to the next. */
export const failoverBackend: BuildBackend = ({ id, body }, parts) => {
  const { backends } = body as Kept<typeof contract.shape>
  const children = backends.map(child => parts.child(child))
  return {
    answer: answerFrom(id, children),
    dial: dialOf(children),
    close: () => children.forEach(child => child.close()),
  }
}

const answerFrom =
  (id: string, children: readonly Backend[]): Endpoint =>
  async exchange => {
    const last = children.length - 1
    for (const [at, child] of children.entries()) {
      const reply = await child.answer(exchange)
      if (reply.lost !== 'unreached' || at === last || exchange.departure.happened) return reply
      reply.body.cancel()
    }
    exchange.trace.backendId = id
    return unreached('backend_childless', exchange)
  }

function dialOf(children: readonly Backend[]): Backend['dial'] {
  const dials = children.flatMap(({ dial }) => dial ?? [])
  if (dials.length === 0) return undefined
  return async (visitor, first) => {
    let failure: unknown
    for (const dial of dials) {
      try {
        return await dial(visitor, first)
      } catch (error) {
        if (!(error instanceof DialError)) throw error
        failure = error
      }
    }
    throw failure
  }
}
