import {
  boolean,
  integer,
  line,
  listOf,
  mapOf,
  moment,
  nullable,
  object,
  type TSchema,
} from '#contract/schema.ts'
import type { Filter } from '#contract/kind.ts'
import { apiKey } from '#contract/kinds/api-key.ts'
import { readSchema } from '#contract/shape-schema.ts'
import { effectiveSettings } from '#contract/effective-settings.ts'
import { licences } from '#contract/licences.ts'
import { usage } from '#contract/usage.ts'
import { serverStatus } from '#contract/status.ts'

/** A resource that exists once, or an action of the whole server. */
export interface Singleton {
  /** Only admins may call it; a POST is always for admins. */
  readonly adminOnly?: true
  /** Default GET. A POST is for admins, and has no body. */
  readonly method?: 'GET' | 'POST'
  readonly path: string
  readonly summary: string
  readonly output: TSchema
  /** Parameters of its query. */
  readonly filters?: Readonly<Record<string, Filter>>
}

const account = object({
  id: line(),
  name: line(),
  created_at: moment(),
  suspended: boolean(),
  enforce_sso: boolean(),
  min_api_version: integer(0, 2),
  min_agent_version: line(),
  user_mfa_required: boolean(),
  traffic_full_capture: boolean(),
})

export const singletons = {
  root: {
    path: '/',
    summary: 'The collections of this API.',
    output: object({ uri: line(), subresource_uris: mapOf(line()) }),
  },
  self: {
    path: '/self',
    summary: 'The caller: account, user, and API key, which is null in a dashboard session.',
    output: object({ account, api_key: nullable(readSchema(apiKey.shape)), user: nullable(line()) }),
  },
  usage,
  status: {
    path: '/status',
    summary: 'The state of the server, and what needs attention.',
    output: serverStatus,
  },
  settings: {
    path: '/settings',
    summary: 'The settings of the server, and where each value comes from. For admins.',
    adminOnly: true,
    output: effectiveSettings,
  },
  licences: {
    path: '/licences',
    summary: 'The packages of others that the program contains, with their licences.',
    output: licences,
  },
  reload: {
    method: 'POST',
    path: '/reload',
    summary: 'Reads the settings of the server again, and applies those that need no restart.',
    output: object({ changed: listOf(line()), restart: listOf(line()) }),
  },
} as const satisfies Record<string, Singleton>
