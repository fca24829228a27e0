import { fail } from '#base/errors.ts'
import { isId, newId, timestamp } from '#base/ids.ts'
import type { Log } from '#base/log.ts'
import { tokenHash } from '#base/secrets.ts'
import type { SessionRecord } from '#registry/directory.ts'
import type { Facts } from '#registry/facts.ts'
import { legId, MAX_LEGS, plainId } from '#registry/legs.ts'
import type { Credential, Records } from '#registry/records/records.ts'
import type { Proofs } from '#gateway/agents/proofs.ts'
import type { AuthAnswer, AuthRequest } from '#tunnel/messages.ts'

/** The agent's address, and the one it connected to. */
export type Arrival = Pick<SessionRecord, 'ip' | 'localIp' | 'serverName'>

export interface LoginOptions {
  readonly facts: Facts
  readonly records: Records
  readonly proofs: Proofs
  readonly log: Log
  readonly now?: () => number
}

const SHOWN = 12

type ConnectAddresses = AuthAnswer['Extra']['ConnectAddresses']

/** Finds the credential of a token, or rejects the token. */
function credentialOf(token: string, records: Records): Credential {
  if (!/^[\x21-\x7e]{1,512}$/.test(token)) {
    const shown = token.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, SHOWN)
    return fail('agent_token_malformed', { shown })
  }
  const credential = records.credentialByToken(tokenHash(token)) ?? fail('agent_token_unknown')
  return credential.active ? credential : fail('agent_owner_inactive')
}

function checkAddress(ip: string, credential: Credential, { records, log }: LoginOptions): void {
  const restriction = records.restriction('agent')
  if (restriction === undefined || restriction.allows(ip)) return
  if (restriction.enforced) fail('agent_address_refused', { ip })
  log.warn({ ip, credential: credential.id }, 'an unenforced IP restriction would deny this agent')
}

/** Authenticates an agent and determines its session. */
export function login(request: AuthRequest, arrival: Arrival, options: LoginOptions): SessionRecord {
  const { facts, records, proofs, now = Date.now } = options
  const { ClientId, Extra } = request
  const credential = credentialOf(Extra.AuthToken, records)
  checkAddress(arrival.ip, credential, options)
  // A returning agent proves its session by its cookie; any other gets a new one.
  const startedAt = isId(ClientId) ? proofs.sessionStart(Extra.Cookie, ClientId, credential.id) : undefined
  return {
    id: startedAt === undefined ? newId('ts') : legId(ClientId, legNumber(Extra.LegNumber)),
    node: facts.node,
    credentialId: credential.id,
    agentVersion: Extra.Version,
    userAgent: Extra.UserAgent,
    ...arrival,
    metadata: Extra.Metadata,
    os: Extra.OS,
    arch: Extra.Arch,
    region: facts.region,
    startedAt: startedAt ?? timestamp(now()),
    transport: 'adit/v2',
  }
}

const legNumber = (given: number): number => Math.min(Math.max(given, 0), MAX_LEGS - 1)

/**
 * Offers a second connection if there is a second process for it. The address is the one that the agent dialled, which
 * it knows better; so only Adit agents get the offer.
 */
function furtherConnections({ Extra }: AuthRequest, { processes, region }: Facts): ConnectAddresses {
  if (processes < 2 || !Extra.UserAgent.startsWith('adit/')) return undefined
  return [
    { Region: region, ServerAddr: '' },
    { Region: region, ServerAddr: '' },
  ]
}

export const versionFor = (offered: readonly string[]): '2' | '3' => (offered.includes('3') ? '3' : '2')

export function welcome(request: AuthRequest, record: SessionRecord, options: LoginOptions): AuthAnswer {
  const { facts, proofs } = options
  const id = plainId(record.id)
  return {
    Version: versionFor(request.Version),
    ClientId: id,
    Error: '',
    Extra: {
      Version: facts.version,
      Region: facts.region,
      Cookie: proofs.cookie({ ...record, id }),
      AccountName: '',
      SessionDuration: 0,
      PlanName: 'self-hosted',
      Banner: '',
      DeprecationWarning: undefined,
      ConnectAddresses: furtherConnections(request, facts),
      AgentSessionID: id,
      Node: facts.node,
    },
  }
}
