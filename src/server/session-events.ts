import { hasPrefixOf, type Kind } from '#contract/kind.ts'
import { credential } from '#contract/kinds/credential.ts'
import { tunnelSession } from '#contract/kinds/live.ts'
import { sshCredential } from '#contract/kinds/ssh-credential.ts'
import { sshCertificateAuthority } from '#contract/kinds/ssh.ts'
import type { SessionRecord } from '#registry/directory.ts'
import { plainId } from '#registry/legs.ts'

const sshSignIn = [sshCredential, sshCertificateAuthority]

/** How the session of an agent has ended. */
export interface SessionEnd {
  /** RFC 3339. */
  readonly at: string
  /** Undefined when it ended in good order. */
  readonly error: string | undefined
}

/** With its address, where the public one of the API is known: there is no call that it could be told by. */
function refTo(id: string, kinds: readonly Kind[], apiUrl: string | undefined): { id: string; uri?: string } {
  const kind = kinds.find(each => hasPrefixOf(each, id))
  return apiUrl === undefined || kind === undefined ? { id } : { id, uri: `${apiUrl}${kind.path}/${id}` }
}

/** What is told of an agent that has come or gone, as JSON. */
export function sessionText(
  session: SessionRecord,
  apiUrl: string | undefined,
  end: SessionEnd | undefined,
): string {
  const isSsh = session.transport === 'ssh'
  return JSON.stringify({
    session: refTo(plainId(session.id), [tunnelSession], apiUrl),
    credential: refTo(session.credentialId, isSsh ? sshSignIn : [credential], apiUrl),
    agent_ip: session.ip,
    ingress_server_ip: session.localIp,
    region: session.region,
    ingress_hostname: session.serverName ?? null,
    user_agent: session.userAgent,
    metadata: session.metadata,
    os: session.os,
    arch: session.arch,
    // As others know the protocol, whichever version of it our own agents speak.
    transport: isSsh ? 'ssh' : 'muxado',
    started_at: session.startedAt,
    // Sessions have no end of their own here, and no version of an agent is turned away.
    expires_at: null,
    stopped_at: end?.at ?? null,
    deprecated: null,
    error: end?.error ?? null,
  })
}
