import { createEgress } from '#base/egress-client.ts'
import { cannotListen } from '#base/listen-on.ts'
import type { FirstProcess } from '#cluster/first-process.ts'
import type { GatewayConfig } from '#cluster/gateway-config.ts'
import { ListenError } from '#gateway/open-listeners.ts'
import { startGateway, type Gateway } from '#gateway/gateway.ts'
import type { ListenerName } from '#gateway/gateway-options.ts'
import { LocalAuthority } from '#pki/local-authority.ts'
import { openAccessLog } from '#telemetry/request-log/access-log.ts'
import { tracingParts } from '#telemetry/tracing/setup.ts'
import { TrafficEvents } from '#telemetry/traffic-events.ts'
import { usePlainReads } from '#tunnel/socket-reads.ts'

/** Starts the gateway of this process, the first one or a worker. */
export async function composeGateway(config: GatewayConfig, first: FirstProcess): Promise<Gateway> {
  const { root, fastReads, egressAllow, requests, tracing, ...options } = config
  const { source, directory, userSessions, sharesPorts, connectPeers, log } = first
  usePlainReads(!fastReads)
  const traffic = new TrafficEvents(first.publishTraffic, log)
  first.onSubscriptionChange(wanted => traffic.subscribe(wanted))
  try {
    return await startGateway({
      ...options,
      source,
      directory,
      userSessions,
      sharesPorts,
      connectPeers,
      log,
      traffic,
      authority: await LocalAuthority.open(root),
      egress: createEgress({ allow: egressAllow }),
      tracing: tracingParts(tracing),
      requests: { size: requests.size, write: openAccessLog(requests.accessLog, log) },
    })
  } catch (error) {
    throw startProblem(error)
  }
}

const variables: Readonly<Record<ListenerName, string>> = {
  http: 'ADIT_HTTP_ADDR',
  https: 'ADIT_HTTPS_ADDR',
  agent: 'ADIT_AGENT_ADDR',
  ssh: 'ADIT_SSH_ADDR',
}

/** Why a gateway cannot start, as a sentence for the operator if possible. */
const startProblem = (error: unknown): unknown =>
  error instanceof ListenError ? cannotListen(error.cause, error.address, variables[error.listener]) : error
