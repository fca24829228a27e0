import type { Socket } from 'node:net'
import type { ProxiedListener } from '#base/setting-values.ts'
import { TrustedProxies } from '#base/trusted-proxies.ts'
import { TlsChallenges } from '#gateway/acme/tls-challenge.ts'
import type { GatewayOptions } from '#gateway/gateway-options.ts'
import { Admission } from '#gateway/listeners/admission.ts'
import type { AgentListener } from '#gateway/listeners/agents.ts'
import { ClientBytes } from '#gateway/listeners/client-bytes.ts'
import type { ClosingSockets } from '#gateway/listeners/closing-sockets.ts'
import { HttpListener } from '#gateway/listeners/http.ts'
import { HttpsListener } from '#gateway/listeners/https.ts'
import { TcpPorts } from '#gateway/listeners/tcp.ts'
import type { Router } from '#gateway/routing/router.ts'
import type { HttpClientConnection } from '#http/exchange.ts'
import { serveHttp1 } from '#http/http1-server-connection.ts'
import { serveHttp2 } from '#http/http2/server.ts'
import { pageTheme } from '#http/pages/theme.ts'
import { SiteIsolation } from '#http/site-isolation.ts'
import type { Records } from '#registry/records/records.ts'
import type { GatewayMetrics } from '#telemetry/metrics.ts'
import type { RequestLog } from '#telemetry/request-log/request-log.ts'
import type { Tracing } from '#telemetry/tracing/tracing.ts'
import type { Certificates } from '#tls/certificates.ts'
import { ProxiedSockets } from '#tunnel/proxied-sockets.ts'

interface ListenerParts {
  readonly records: Records
  readonly router: Router
  readonly certificates: Certificates
  readonly metrics: GatewayMetrics
  readonly requests: RequestLog
  readonly tracing: Tracing | undefined
  readonly handshaken: (seconds: number) => void
  readonly closing: ClosingSockets
  /** Undefined when agents do not connect to this process. */
  readonly agents: Pick<AgentListener, 'adopt'> | undefined
}

/** The listeners for clients. */
export interface ClientListeners {
  readonly http: HttpListener
  readonly https: HttpsListener
  readonly tcp: TcpPorts
}

/** Makes the listeners for clients, which are not open yet. */
export function makeClientListeners(
  { log, info, traffic, usage, directory, sharesPorts }: GatewayOptions,
  { records, router, certificates, metrics, requests, tracing, handshaken, closing, agents }: ListenerParts,
): ClientListeners {
  const challenges = new TlsChallenges(records)
  const proxies = new TrustedProxies(info)
  const admission = new Admission({}, ip => proxies.has(ip))
  const proxied = (listener: ProxiedListener) => new ProxiedSockets({ settings: info, listener, log })
  const bytes = new ClientBytes()
  const shared = { admission, bytes, closing, log, sharesPorts, traffic, usage }
  metrics.bytes.in.from(() => bytes.received)
  metrics.bytes.out.from(() => bytes.sent)
  metrics.refusedConnections.from(() => admission.refused)
  const answer = tracing?.around(router.answer) ?? router.answer
  const observer = tracing?.observing(requests) ?? requests
  const isolation = info.isolate_hosts ? new SiteIsolation(info.domain) : undefined
  const served = { answer, observer, isolation, theme: pageTheme(info), proxies }
  const http1 = (socket: Socket, client: HttpClientConnection) => serveHttp1(socket, { ...served, client })
  return {
    http: new HttpListener({ ...shared, proxied: proxied('http'), http1 }),
    https: new HttpsListener({
      ...shared,
      proxied: proxied('https'),
      agents,
      certificates,
      handshaken,
      http1,
      http2: (socket, client) => serveHttp2(socket, { ...served, client }),
      onChange: changed => {
        records.onAnyChange(changed)
        directory.watch({ added: changed, removed: changed })
      },
      challenge: name => challenges.contextFor(name),
      route: ({ serverName }, { ip }) => router.serverName(serverName, ip),
    }),
    tcp: new TcpPorts({ ...shared, proxied: proxied('tcp'), host: info.tcp_host }),
  }
}
