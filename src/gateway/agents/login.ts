import { fail } from '#base/errors.ts'
import { isId, newId, timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { tokenHash } from '#base/secrets.ts'
import { machineOf } from '#registry/machine-of.ts'
import type { SessionRecord } from '#registry/directory.ts'
import { connectionId, MAX_AGENT_CONNECTIONS, baseId } from '#registry/agent-connections.ts'
import type { Credential } from '#registry/records/credentials.ts'
import type { Records } from '#registry/records/records.ts'
import { connectAddresses, type ConnectAddressesOptions } from '#gateway/agents/connect-addresses.ts'
import type { ResumptionTokens } from '#gateway/agents/resumption-tokens.ts'
import type { AuthAnswer, AuthRequest } from '#tunnel/messages.ts'

/** The agent's address, and the one it connected to. */
export type AgentOrigin = Pick<SessionRecord, 'ip' | 'localIp' | 'serverName'>

export interface LoginOptions extends ConnectAddressesOptions {
  readonly records: Records
  readonly resumption: ResumptionTokens
  readonly log: Log
  readonly now?: () => number
}

const SHOWN = 12

/** Finds the credential of a token, or rejects the token. */
async function credentialOf(token: string, records: Records): Promise<Credential> {
  if (token === '') fail('agent_token_missing')
  if (!/^[\x21-\x7e]{1,512}$/.test(token)) {
    const shown = token.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, SHOWN)
    return fail('agent_token_malformed', { shown })
  }
  const hash = tokenHash(token)
  const known = records.credentialByToken(hash)
  if (known?.active === true) return known
  // Another process may have just created or activated it; a rejected agent does not try again.
  await records.refresh()
  const credential = records.credentialByToken(hash) ?? fail('agent_token_unknown')
  return credential.active ? credential : fail('agent_owner_inactive')
}

function checkAddress(ip: string, credential: Credential, { records, log }: LoginOptions): void {
  const restriction = records.restriction('agent')
  if (restriction === undefined || restriction.allows(ip)) return
  if (restriction.enforced) fail('agent_address_refused', { ip })
  log.warn({ ip, credential: credential.id }, 'an unenforced IP restriction would deny this agent')
}

/** Authenticates an agent and determines its session. */
export async function login(
  request: AuthRequest,
  origin: AgentOrigin,
  options: LoginOptions,
): Promise<SessionRecord> {
  const { info, records, resumption, now = Date.now } = options
  const { ClientId, Extra } = request
  const credential = await credentialOf(Extra.AuthToken, records)
  checkAddress(origin.ip, credential, options)
  // A returning agent proves its session by its cookie; any other gets a new one.
  const startedAt = isId(ClientId)
    ? resumption.sessionStart(Extra.Cookie, ClientId, credential.id)
    : undefined
  return {
    id: startedAt === undefined ? newId('ts') : connectionId(ClientId, connectionNumberIn(Extra.LegNumber)),
    node: info.node,
    credentialId: credential.id,
    agentVersion: Extra.Version,
    userAgent: Extra.UserAgent,
    ...origin,
    metadata: Extra.Metadata,
    os: Extra.OS,
    arch: Extra.Arch,
    region: info.region,
    startedAt: startedAt ?? timestamp(now()),
    transport: 'adit/v2',
  }
}

const connectionNumberIn = (given: number): number => Math.min(Math.max(given, 0), MAX_AGENT_CONNECTIONS - 1)

export const versionFor = (offered: readonly string[]): '2' | '3' => (offered.includes('3') ? '3' : '2')

export function welcome(request: AuthRequest, record: SessionRecord, options: LoginOptions): AuthAnswer {
  const { info, resumption } = options
  const id = baseId(record.id)
  const addresses = connectAddresses(request.Extra.UserAgent, options)
  return {
    Version: versionFor(request.Version),
    ClientId: id,
    Error: '',
    Extra: {
      Version: info.version,
      Region: info.region,
      Cookie: resumption.cookie({ ...record, id }),
      AccountName: '',
      SessionDuration: 0,
      PlanName: 'self-hosted',
      Banner: '',
      DeprecationWarning: undefined,
      ConnectAddresses: addresses.length > 0 ? addresses : undefined,
      AgentSessionID: id,
      Node: machineOf(info.node),
    },
  }
}
