import type { ResourceHooks } from '#api/resource-hooks.ts'
import { abuseReport } from '#api/behaviours/abuse-report.ts'
import { agentIngress } from '#api/behaviours/agent-ingress.ts'
import { backends } from '#api/behaviours/backends.ts'
import { capture } from '#api/behaviours/capture.ts'
import { certificateAuthority, tlsCertificate } from '#api/behaviours/certificates.ts'
import { apiKey, credential, sshCredential } from '#api/behaviours/credentials.ts'
import { httpsEdge, tcpEdge, tlsEdge } from '#api/behaviours/edges.ts'
import { endpointConfiguration } from '#api/behaviours/endpoint-configuration.ts'
import { eventDestination } from '#api/behaviours/event-destination.ts'
import { eventSubscription } from '#api/behaviours/event-subscription.ts'
import { httpsEdgeRoute } from '#api/behaviours/https-edge-route.ts'
import { ipPolicy, ipPolicyRule, ipRestriction } from '#api/behaviours/ip-restriction.ts'
import { request } from '#api/behaviours/request.ts'
import { reservedAddr } from '#api/behaviours/reserved-addr.ts'
import { reservedDomain } from '#api/behaviours/reserved-domain.ts'
import { sshCertificateAuthority, sshHostCertificate, sshUserCertificate } from '#api/behaviours/ssh.ts'
import { user } from '#api/behaviours/users.ts'
import { tunnelSession } from '#api/behaviours/tunnel-session.ts'
import type { Kind } from '#contract/kind.ts'

const hooks: Readonly<Record<string, ResourceHooks>> = {
  ...backends,
  abuse_report: abuseReport,
  agent_ingress: agentIngress,
  api_key: apiKey,
  capture,
  certificate_authority: certificateAuthority,
  credential,
  endpoint_configuration: endpointConfiguration,
  event_destination: eventDestination,
  event_subscription: eventSubscription,
  https_edge: httpsEdge,
  https_edge_route: httpsEdgeRoute,
  ip_policy: ipPolicy,
  ip_policy_rule: ipPolicyRule,
  ip_restriction: ipRestriction,
  request,
  reserved_addr: reservedAddr,
  reserved_domain: reservedDomain,
  ssh_certificate_authority: sshCertificateAuthority,
  ssh_credential: sshCredential,
  ssh_host_certificate: sshHostCertificate,
  ssh_user_certificate: sshUserCertificate,
  tcp_edge: tcpEdge,
  tls_certificate: tlsCertificate,
  tls_edge: tlsEdge,
  tunnel_session: tunnelSession,
  user,
}

const plain: ResourceHooks = {}

/** The behaviour of a kind; none for most. */
export const hooksOf = (kind: Kind): ResourceHooks => hooks[kind.name] ?? plain
