import type { ErrorName } from '#base/errors.ts'
import type { UpstreamFailure } from '#http/exchange.ts'

/**
 * head: there is no response head yet. peek: it may be of an agent in place of its service. body: the response is being
 * forwarded. done: the connection is no longer used.
 */
export type CallPhase = 'head' | 'peek' | 'body' | 'done'

type Row<Action extends string> = Readonly<Record<CallPhase, Action>>

/** The service has ended its direction. */
const end: Row<'fail' | 'decide' | 'endBody' | 'ignore'> = {
  head: 'fail',
  peek: 'decide',
  body: 'endBody',
  done: 'ignore',
}

/** The connection is closed. */
const closed: Row<'fail' | 'breakBody' | 'ignore'> = {
  head: 'fail',
  peek: 'fail',
  body: 'breakBody',
  done: 'ignore',
}

/** The call fails for any other reason. A response that has begun cannot be replaced. */
const failure: Row<'respond' | 'abort'> = {
  head: 'respond',
  peek: 'respond',
  body: 'abort',
  done: 'abort',
}

/** The service takes too long. */
const timeout: Row<'respond' | 'wait'> = {
  head: 'respond',
  peek: 'respond',
  body: 'wait',
  done: 'wait',
}

/** What a call does, by event and phase. */
export const callPolicy = { end, closed, failure, timeout } as const

/**
 * undialled: there is no connection. unreachable: the agent reports that it cannot reach the service. closed: the
 * connection ended. lost: the agent's link did. evicted: it was closed in favour of another client. abandoned: the
 * client has disconnected.
 */
export type FailureCause =
  'undialled' | 'unreachable' | 'closed' | 'lost' | 'evicted' | 'invalid' | 'timeout' | 'abandoned'

/** Why a connection was closed before the response; an agent that has begun to respond does not close it itself. */
export function causeOfClose(
  phase: CallPhase,
  isEvicted: boolean,
  isSessionLost: boolean,
): 'evicted' | 'closed' | 'lost' {
  if (isEvicted) return 'evicted'
  return phase === 'head' && !isSessionLost ? 'closed' : 'lost'
}

/** What is known about a call that fails before its response. */
export interface CallProgress {
  /** An agent is in front of the service. */
  readonly viaAgent: boolean
  /** The request was sent on another connection before. */
  readonly isRetried: boolean
  /** No byte of a response has arrived. */
  readonly isSilent: boolean
  /** Interim responses have arrived. */
  readonly hasInterim: boolean
  /** The service has started to receive the body, so it cannot go elsewhere. */
  readonly isBodyTouched: boolean
}

/** Whether another service may be tried, and what this one has seen; undefined: no other may be tried. */
export function failureOf(cause: FailureCause, progress: CallProgress): UpstreamFailure | undefined {
  switch (cause) {
    case 'undialled':
    case 'unreachable':
      return progress.isRetried || progress.isBodyTouched ? 'no-response' : 'not-sent'
    case 'closed':
      return progress.isSilent ? 'no-response' : undefined
    case 'lost':
      return progress.hasInterim ? undefined : 'no-response'
    default:
      return undefined
  }
}

const codes = {
  unreachable: 'upstream_unreachable',
  closed: 'upstream_closed',
  lost: 'agent_gone',
  evicted: 'agent_busy',
  invalid: 'upstream_invalid',
  timeout: 'upstream_timeout',
  abandoned: 'upstream_closed',
} as const satisfies Partial<Record<FailureCause, ErrorName>>

/** The error for the client. For failed dials the backend knows it. */
export function errorOf(cause: keyof typeof codes, progress: CallProgress): ErrorName {
  // An agent that closes twice at once does not reach its service.
  const isUnreachable = cause === 'closed' && progress.isSilent && progress.isRetried && progress.viaAgent
  return isUnreachable ? 'upstream_unreachable' : codes[cause]
}
