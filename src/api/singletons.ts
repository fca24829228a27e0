import type { Call } from '#api/call.ts'
import { read } from '#api/reading.ts'
import type { ResourceBody } from '#contract/body.ts'
import { hasPrefixOf } from '#contract/kind.ts'
import { apiKey } from '#contract/kinds/api-key.ts'
import { kinds } from '#contract/kinds/index.ts'

/** The collections that can be listed, by name. */
export async function root(call: Call): Promise<ResourceBody> {
  const listed = Object.entries(kinds).filter(([, kind]) => kind.verbs.includes('list') && !kind.parent)
  const uris = listed.map(([name, kind]) => [name, call.base + kind.path])
  return { uri: `${call.base}/`, subresource_uris: Object.fromEntries(uris) }
}

export async function self(call: Call): Promise<ResourceBody> {
  const { info, principal } = call
  return {
    account: {
      id: info.accountId,
      name: info.domain,
      created_at: info.accountCreatedAt,
      suspended: false,
      enforce_sso: false,
      min_api_version: 2,
      min_agent_version: '',
      user_mfa_required: false,
      traffic_full_capture: info.fullCapture,
    },
    api_key: hasPrefixOf(apiKey, principal.keyId)
      ? await read({ kind: apiKey, id: principal.keyId, parent: null }, call)
      : null,
    user: principal.id,
  }
}
