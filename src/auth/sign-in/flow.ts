import { randomBytes } from 'node:crypto'
import { dropCookie, flowsIn, setCookie } from '#auth/sign-in/cookies.ts'
import { Generations } from '#base/generations.ts'
import type { Guest } from '#auth/sign-in/guest.ts'
import type { Seal } from '#auth/sign-in/seal.ts'
import type { Memory } from '#auth/sign-in/sign-in.ts'

const FLOW_MS = 15 * 60_000
/** People open several tabs, and leave sign-ins unfinished. */
const MAX_FLOWS = 5
/** A longer address is not returned to, so that what providers are sent stays short enough for them. */
const MAX_RETURN = 2048
const MAX_USED = 10_000

/** Where the answer of a provider leads: it goes out with the browser and comes back, sealed. */
export interface State {
  readonly placeId: string
  readonly origin: string
  /** Path and query on that origin. */
  readonly returnTo: string
  /** Or `UNASKED`. */
  readonly flowId: string
}

/** A sign-in that was begun, as the browser that began it remembers it. */
export interface Flow {
  readonly flowId: string
  readonly fingerprint: string
  readonly memory: Memory
}

/** Stands for the flow of somebody who did not begin here, but at a provider that may do so. */
export const UNASKED = ''

const STATE = 'sign-in state'

export const sealState = (seal: Seal, state: State): string => seal.seal(STATE, state, FLOW_MS)

/** What `sealState` has made, and nothing else. */
export const openState = (seal: Seal, text: string): State | undefined =>
  seal.open(STATE, text) as State | undefined

/** The address on a site that somebody came for. */
export function returnTarget(target: string): string {
  return target.startsWith('/') && target.length <= MAX_RETURN ? target : '/'
}

/**
 * The address to return to, on its origin whatever its path looks like: the origin is written before it, ends with its
 * host or port, and a path begins with "/".
 */
export function returnUrl({ origin, returnTo }: Pick<State, 'origin' | 'returnTo'>): string {
  const url = URL.parse(`${origin}${returnTarget(returnTo)}`)
  return url?.origin === new URL(origin).origin ? url.href : `${origin}/`
}

/** The flows of one place. */
export class Flows {
  readonly #seal: Seal
  readonly #now: () => number
  readonly #used = new Generations<true>(MAX_USED)

  constructor(seal: Seal, now: () => number) {
    this.#seal = seal
    this.#now = now
  }

  /** Begins with the time, so that flows sort by age. */
  newId(): string {
    return this.#now().toString(36).padStart(9, '0') + randomBytes(12).toString('hex')
  }

  /** Cookies that have the browser remember a flow; the oldest are forgotten for it. */
  keep(flow: Flow, { audience, names, jar }: Guest): string[] {
    const known = flowsIn(jar, names)
    const forgotten = known.slice(0, Math.max(0, known.length - MAX_FLOWS + 1))
    const text = this.#seal.seal(purpose(audience), flow, FLOW_MS)
    return [
      ...forgotten.map(name => dropCookie(name, names)),
      setCookie(names.flow + flow.flowId, text, names, FLOW_MS / 1000),
    ]
  }

  /** The flow that a state belongs to, if this browser began it here and has not ended it. */
  take(state: State, { audience, names, jar }: Guest): Flow | undefined {
    const text = jar.ours.get(names.flow + state.flowId)
    const flow =
      text === undefined ? undefined : (this.#seal.open(purpose(audience), text) as Flow | undefined)
    if (flow?.flowId !== state.flowId || this.#used.get(state.flowId)) return undefined
    // The browser is told to forget it, but need not obey.
    this.#used.set(state.flowId, true)
    return flow
  }
}

const purpose = (audience: string): string => `sign-in flow ${audience}`
