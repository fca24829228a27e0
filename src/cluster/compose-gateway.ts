import { createEgress } from '#base/egress-client.ts'
import { cannotListen } from '#base/listen-on.ts'
import type { GatewaySettings } from '#base/settings.ts'
import { oauthSetup } from '#auth/providers/setup.ts'
import type { FirstProcess } from '#cluster/first-process.ts'
import type { GatewayConfig } from '#cluster/gateway-config.ts'
import { ListenError } from '#gateway/open-listeners.ts'
import { usageLimits } from '#gateway/agents/usage.ts'
import { startGateway, type Gateway } from '#gateway/gateway.ts'
import type { ListenerName } from '#gateway/gateway-options.ts'
import { LocalAuthority } from '#pki/local-authority.ts'
import { openAccessLog } from '#telemetry/request-log/access-log.ts'
import { tracingParts, tracingSetup } from '#telemetry/tracing/setup.ts'
import { TrafficEvents } from '#telemetry/traffic-events.ts'
import { UsageCounter } from '#telemetry/usage/usage-counter.ts'
import { usePlainReads } from '#tunnel/socket-reads.ts'

/** Starts the gateway of this process, the first one or a worker. */
export async function composeGateway(config: GatewayConfig, first: FirstProcess): Promise<Gateway> {
  const { info, root, ...options } = config
  const { source, directory, userSessions, sharesPorts, connectPeers, otherNodes, log } = first
  usePlainReads(!info.fast_reads)
  const traffic = new TrafficEvents(first.publishTraffic, log)
  const usage = new UsageCounter({ publish: first.publishUsage, sessions: directory.sessions, log })
  first.onSubscriptionChange(wanted => traffic.subscribe(wanted))
  try {
    return await startGateway({
      ...options,
      ...optionsOf(info),
      info,
      source,
      directory,
      userSessions,
      sharesPorts,
      connectPeers,
      otherNodes,
      log,
      traffic,
      usage,
      authority: await LocalAuthority.open(root),
      requests: { size: info.kept_requests, write: openAccessLog(info.access_log, log) },
    })
  } catch (error) {
    throw startProblem(error)
  }
}

/** The parts of the gateway that are made from several settings. */
const optionsOf = (settings: GatewaySettings) => ({
  addresses: {
    http: settings.http_addr,
    https: settings.https_addr,
    agent: settings.agent_addr,
    ssh: settings.ssh_addr,
  },
  publicPorts: { http: settings.public_http_port, https: settings.public_https_port },
  limits: usageLimits(settings),
  egress: createEgress({ allow: settings.egress_allow ?? [] }),
  oauth: oauthSetup(settings),
  tracing: tracingParts(tracingSetup(settings)),
})

const variables: Readonly<Record<ListenerName, string>> = {
  http: 'ADIT_HTTP_ADDR',
  https: 'ADIT_HTTPS_ADDR',
  agent: 'ADIT_AGENT_ADDR',
  ssh: 'ADIT_SSH_ADDR',
}

/** Why a gateway cannot start, as a sentence for the operator if possible. */
const startProblem = (error: unknown): unknown =>
  error instanceof ListenError ? cannotListen(error.cause, error.address, variables[error.listener]) : error
