import type { Filter } from '#contract/kind.ts'
import { kinds } from '#contract/kinds/index.ts'
import { isOnlineKind } from '#contract/kinds/live.ts'
import { request } from '#contract/kinds/request.ts'
import { integer, line, object, oneOf, type Static, type TSchema } from '#contract/schema.ts'
import { readSchema } from '#contract/shape-schema.ts'

/** Server-sent events (WHATWG HTML, section 9.2) for as long as the client stays connected. */
export interface Stream {
  readonly path: string
  readonly summary: string
  /** The `event` field of each message. */
  readonly event: string
  /** The JSON text in its `data` field. */
  readonly data: TSchema
  readonly filters: Readonly<Record<string, Filter>>
}

const changeKinds = ['created', 'updated', 'deleted'] as const

/** Sent instead of messages that a slow client did not read in time, or that were too many at once. */
export const DROPPED = { event: 'dropped', data: object({ count: integer(1, Number.MAX_SAFE_INTEGER) }) }

// A stream begins now.
const { since: _, ...requestFilters } = request.filters ?? {}

const changingKinds = Object.values(kinds).flatMap(({ live, key, name }) =>
  key === 'id' && (!live || isOnlineKind(name)) ? [name] : [],
)

export const streams = {
  requests: {
    path: '/requests/stream',
    summary: 'Requests as they end, as server-sent events.',
    event: 'request',
    data: readSchema(request.shape),
    filters: requestFilters,
  },
  changes: {
    path: '/changes/stream',
    summary:
      'Resources as they are changed by any server, and agents, tunnels and endpoints as they go online and offline, as server-sent events.',
    event: 'change',
    data: object({ kind: line(), id: line(), change: oneOf(...changeKinds) }),
    filters: {
      kind: {
        doc: 'Only changes of this kind, such as ip_policy.',
        values: { pattern: changingKinds.join('|'), example: changingKinds.join(', ') },
      },
    },
  },
} as const satisfies Record<string, Stream>

export type Change = Static<typeof streams.changes.data>
