import { randomBytes } from 'node:crypto'
import { dropCookie, flowsIn, setCookie } from '#auth/sign-in/cookies.ts'
import { TwoGenerationCache } from '#base/two-generation-cache.ts'
import type { SignInRequest } from '#auth/sign-in/sign-in-request.ts'
import type { Seal } from '#auth/sign-in/seal.ts'
import type { FlowState } from '#auth/sign-in/sign-in.ts'

const FLOW_MS = 15 * 60_000
/** Users open several tabs, and leave sign-ins unfinished. */
const MAX_FLOWS = 5
/** Longer URLs are not restored, so that the state stays short enough for providers. */
const MAX_RETURN = 2048
const MAX_USED = 10_000

/** Where a provider's response belongs: it travels with the browser, sealed. */
export interface State {
  readonly realmId: string
  readonly origin: string
  /** Path and query on that origin. */
  readonly returnTo: string
  /** Or `IDP_INITIATED`. */
  readonly flowId: string
}

/** A started sign-in, stored in the browser that started it. */
export interface Flow {
  readonly flowId: string
  /** The key of the chosen offer. */
  readonly offer: string
  readonly fingerprint: string
  readonly memory: FlowState
}

/** The flow of a sign-in that a provider started, where that is allowed. */
export const IDP_INITIATED = ''

const STATE = 'sign-in state'

/** As nodes of other versions read it, which may serve the next request: there a realm was called a place. */
interface SealedState extends Omit<State, 'realmId'> {
  readonly placeId: string
}

export function sealState(seal: Seal, { realmId, ...rest }: State): string {
  const sealed: SealedState = { placeId: realmId, ...rest }
  return seal.seal(STATE, sealed, FLOW_MS)
}

/** What `sealState` created, and nothing else. */
export function openState(seal: Seal, text: string): State | undefined {
  const sealed = seal.open(STATE, text) as SealedState | undefined
  if (sealed === undefined) return undefined
  const { placeId: realmId, ...rest } = sealed
  return { realmId, ...rest }
}

/** The requested URL on a site. */
export function returnTarget(target: string): string {
  return target.startsWith('/') && target.length <= MAX_RETURN ? target : '/'
}

/** The URL to return to, always on its origin: the origin ends with its host or port, and a path begins with "/". */
export function returnUrl({ origin, returnTo }: Pick<State, 'origin' | 'returnTo'>): string {
  const url = URL.parse(`${origin}${returnTarget(returnTo)}`)
  return url?.origin === new URL(origin).origin ? url.href : `${origin}/`
}

/** The flows of one realm. */
export class Flows {
  readonly #seal: Seal
  readonly #now: () => number
  readonly #used = new TwoGenerationCache<true>(MAX_USED)

  constructor(seal: Seal, now: () => number) {
    this.#seal = seal
    this.#now = now
  }

  /** Begins with the time, so that flows sort by age. */
  newId(): string {
    return this.#now().toString(36).padStart(9, '0') + randomBytes(12).toString('hex')
  }

  /** Cookies that store a flow in the browser; the oldest are evicted. */
  keep(flow: Flow, { audience, names, jar }: SignInRequest): string[] {
    const known = flowsIn(jar, names)
    const forgotten = known.slice(0, Math.max(0, known.length - MAX_FLOWS + 1))
    const text = this.#seal.seal(purpose(audience), flow, FLOW_MS)
    return [
      ...forgotten.map(name => dropCookie(name, names)),
      setCookie(names.flow + flow.flowId, text, names, FLOW_MS / 1000),
    ]
  }

  /** The cookies of the flows that this browser started here, and not at another route of the host. */
  startedHere(request: SignInRequest): string[] {
    const { jar, names } = request
    return flowsIn(jar, names).filter(name => this.#open(name, request) !== undefined)
  }

  /** The flow of a state, if this browser started it here and has not finished it. */
  take(state: State, request: SignInRequest): Flow | undefined {
    const flow = this.#open(request.names.flow + state.flowId, request)
    if (flow?.flowId !== state.flowId || this.#used.get(state.flowId)) return undefined
    // The browser is asked to delete it, but need not obey.
    this.#used.set(state.flowId, true)
    return flow
  }

  #open(name: string, { audience, jar }: SignInRequest): Flow | undefined {
    const text = jar.ours.get(name)
    return text === undefined ? undefined : (this.#seal.open(purpose(audience), text) as Flow | undefined)
  }
}

const purpose = (audience: string): string => `sign-in flow ${audience}`
