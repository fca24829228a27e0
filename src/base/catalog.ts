import { agentErrors } from '#base/catalog/agent.ts'
import { agentSessionErrors } from '#base/catalog/agent-sessions.ts'
import { apiAccessErrors } from '#base/catalog/api-access.ts'
import { apiRequestErrors } from '#base/catalog/api-requests.ts'
import { backendErrors } from '#base/catalog/backends.ts'
import { captureErrors } from '#base/catalog/captures.ts'
import { certificateErrors } from '#base/catalog/certificates.ts'
import { clusterErrors } from '#base/catalog/cluster.ts'
import { edgeErrors } from '#base/catalog/edges.ts'
import { eventErrors } from '#base/catalog/events.ts'
import { gatewayErrors } from '#base/catalog/gateway.ts'
import { ipPolicyErrors } from '#base/catalog/ip-policies.ts'
import { moduleErrors } from '#base/catalog/modules.ts'
import { ownerErrors } from '#base/catalog/owners.ts'
import { reservedNameErrors } from '#base/catalog/reserved-names.ts'
import { samlErrors } from '#base/catalog/saml.ts'
import { signInErrors } from '#base/catalog/sign-in.ts'

/**
 * Every error of the platform. A published number never changes its meaning. Numbers from 90001 on are Adit's own; the
 * others are those of the public catalogue. 7036, 7079 and 7155 are retired: they rejected a second provider, a second
 * sign-in module and a second route with sign-in.
 */
export const catalog = {
  ...apiAccessErrors,
  ...apiRequestErrors,
  ...reservedNameErrors,
  ...ownerErrors,
  ...ipPolicyErrors,
  ...certificateErrors,
  ...eventErrors,
  ...backendErrors,
  ...edgeErrors,
  ...moduleErrors,
  ...captureErrors,
  ...gatewayErrors,
  ...signInErrors,
  ...samlErrors,
  ...agentSessionErrors,
  ...agentErrors,
  ...clusterErrors,
}
