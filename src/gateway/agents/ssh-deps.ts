import { Problem } from '#base/errors.ts'
import type { Log } from '#base/log.ts'
import type { Records } from '#registry/records/records.ts'
import type { BindSpec } from '#gateway/agents/bind-spec.ts'
import type { AgentRegistry } from '#gateway/agents/agent-registry.ts'
import type { SshDeps, TunnelRequest } from '#ssh/deps.ts'
import { type KeyHolder, matchKey } from '#ssh/key-match.ts'
import type { KeyRing } from '#ssh/sign-in.ts'
import { splitLine } from '#pki/ssh-key.ts'
import { defaultOptions, type BindOptions } from '#tunnel/messages.ts'

interface Parts {
  readonly registry: AgentRegistry
  readonly records: Records
  readonly log: Log
}

/** Connects the SSH listener to the sessions and the configuration of this process. */
export const gatewayDeps = ({ registry, records, log }: Parts): SshDeps => ({
  ring: keyRing(records),
  refusal(ip) {
    const restriction = records.restriction('agent')
    if (restriction === undefined || restriction.allows(ip)) return undefined
    log.warn({ ip, restriction: restriction.id, enforced: restriction.enforced }, 'ssh client not allowed')
    return restriction.enforced ? new Problem('agent_address_refused', { ip }) : undefined
  },
  add: (record, connection) => registry.add(record, connection),
  remove: (id, connection, lost) => registry.remove(id, connection, { lost }),
  bind: (sessionId, request) => registry.bind(sessionId, specOf(request)),
  markReady: (sessionId, tunnelId) => registry.markReady(sessionId, tunnelId),
  unbind: (sessionId, tunnelId) => registry.unbind(sessionId, tunnelId),
})

const keyRing = (records: Records): KeyRing => ({
  credential: (fingerprint, user) => matchKey(user, holdersOf(fingerprint, records)),
  authorities: () =>
    records.sshAuthorities().map(({ id, publicKey }) => ({
      id,
      key: splitLine(publicKey, 'bad_public_key').blob,
    })),
  refresh: () => records.refresh(),
})

const holdersOf = (fingerprint: string, records: Records): KeyHolder[] =>
  records
    .sshCredentials(fingerprint)
    .map(each => ({ ...each, subject: records.owner(each.ownerId)?.subject ?? '' }))

function specOf(request: TunnelRequest): BindSpec {
  const { forwardsTo, metadata, labels, scheme } = request
  // The client learns a random port from the response, so no connection may start before.
  const about = { forwardsTo, forwardsProto: 'http1', metadata, notReady: true }
  if (Object.keys(labels).length > 0) return { ...about, kind: 'labels', labels }
  const isNew = { tunnelId: '', token: '', pooling: false }
  return { ...about, ...isNew, kind: 'address', proto: scheme, options: optionsOf(request) }
}

function optionsOf({ scheme, host, port, basicAuth }: TunnelRequest): BindOptions {
  if (scheme === 'tcp') return { ...defaultOptions, Addr: port === 0 ? '' : `:${port}` }
  if (basicAuth.length === 0) return { ...defaultOptions, Domain: host }
  const credentials = basicAuth.map(({ username, password }) => ({ username, cleartext_password: password }))
  return { ...defaultOptions, Domain: host, BasicAuth: { credentials } }
}
