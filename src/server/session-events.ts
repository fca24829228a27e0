import { hasPrefixOf, type Kind } from '#contract/kind.ts'
import { credential } from '#contract/kinds/credential.ts'
import { tunnelSession } from '#contract/kinds/live.ts'
import { sshCredential } from '#contract/kinds/ssh-credential.ts'
import { sshCertificateAuthority } from '#contract/kinds/ssh.ts'
import type { SessionRecord } from '#registry/directory.ts'
import { baseId } from '#registry/agent-connections.ts'

const sshSignIn = [sshCredential, sshCertificateAuthority]

/** How the session of an agent has ended. */
export interface AgentSessionEnd {
  /** RFC 3339. */
  readonly at: string
  /** Undefined for a normal end. */
  readonly error: string | undefined
}

/** With its URI, if the public URL of the API is known: there is no request to derive it from. */
function refTo(id: string, kinds: readonly Kind[], apiUrl: string | undefined): { id: string; uri?: string } {
  const kind = kinds.find(each => hasPrefixOf(each, id))
  return apiUrl === undefined || kind === undefined ? { id } : { id, uri: `${apiUrl}${kind.path}/${id}` }
}

/** The event of an agent that connected or disconnected, as JSON. */
export function sessionText(
  session: SessionRecord,
  apiUrl: string | undefined,
  end: AgentSessionEnd | undefined,
): string {
  const isSsh = session.transport === 'ssh'
  return JSON.stringify({
    session: refTo(baseId(session.id), [tunnelSession], apiUrl),
    credential: refTo(session.credentialId, isSsh ? sshSignIn : [credential], apiUrl),
    agent_ip: session.ip,
    ingress_server_ip: session.localIp,
    region: session.region,
    ingress_hostname: session.serverName ?? null,
    user_agent: session.userAgent,
    metadata: session.metadata,
    os: session.os,
    arch: session.arch,
    // The public protocol name, also for the versions of Adit agents.
    transport: isSsh ? 'ssh' : 'muxado',
    started_at: session.startedAt,
    // Sessions do not expire here, and no agent version is rejected.
    expires_at: null,
    stopped_at: end?.at ?? null,
    deprecated: null,
    error: end?.error ?? null,
  })
}
