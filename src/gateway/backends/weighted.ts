import type { weightedBackend as contract } from '#contract/kinds/backends.ts'
import type { Stored } from '#contract/shape.ts'
import type { Backend, BuildBackend } from '#gateway/backends/backend.ts'
import { unreached } from '#gateway/backends/unreached.ts'

interface Share {
  readonly backend: Backend
  readonly weight: number
  /** Its current weight; the largest one is next. */
  due: number
}

/** Smooth weighted round robin: also a few requests are distributed by weight. */
export const weightedBackend: BuildBackend = ({ id, body }, parts) => {
  const { backends } = body as Stored<typeof contract.shape>
  const shares = Object.entries(backends)
    .filter(([, weight]) => weight > 0)
    .map(([child, weight]): Share => ({ backend: parts.child(child), weight, due: 0 }))
  const next = turnsOf(shares)
  return {
    answer: exchange => {
      const backend = next()
      if (backend !== undefined) return backend.answer(exchange)
      exchange.context.upstream.backendId = id
      return Promise.resolve(unreached('backend_childless', exchange))
    },
    dial: dialOf(shares),
    close: () => shares.forEach(({ backend }) => backend.close()),
  }
}

/** Only backends that support more than HTTP take part. */
function dialOf(shares: readonly Share[]): Backend['dial'] {
  const able = shares.filter(({ backend }) => backend.dial !== undefined).map(share => ({ ...share }))
  const next = turnsOf(able)
  if (able.length === 0) return undefined
  return async (client, first) => {
    const dial = next()?.dial
    if (dial === undefined) throw new TypeError('A backend has lost its dial.')
    return dial(client, first)
  }
}

function turnsOf(shares: readonly Share[]): () => Backend | undefined {
  const sum = shares.reduce((total, { weight }) => total + weight, 0)
  const [only] = shares
  if (shares.length <= 1) return () => only?.backend
  return () => {
    let chosen = only
    for (const share of shares) {
      share.due += share.weight
      if (chosen === undefined || share.due > chosen.due) chosen = share
    }
    if (chosen !== undefined) chosen.due -= sum
    return chosen?.backend
  }
}
