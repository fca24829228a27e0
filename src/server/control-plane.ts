import { createApi } from '#api/app.ts'
import type { Deps } from '#api/call.ts'
import { pruneChallenges } from '#api/dashboard/passkey-rows.ts'
import { prunePasswords } from '#api/dashboard/password-rows.ts'
import { pruneSessions, type SessionLimits } from '#api/dashboard/sessions.ts'
import type { HttpServer } from '#api/http-server.ts'
import type { Degraded } from '#api/pages.ts'
import { type SharesPorts, cannotListen } from '#base/listen-on.ts'
import type { Log } from '#base/log.ts'
import { dashboardHost } from '#base/own-names.ts'
import type { AddressSetting } from '#base/setting-values.ts'
import type { SettingChanges } from '#base/changed-settings.ts'
import type { SettingSourceMap } from '#base/read-settings.ts'
import type { Settings } from '#base/settings.ts'
import { TrustedProxies } from '#base/trusted-proxies.ts'
import type { GatewayHandle } from '#cluster/gateway-handle.ts'
import type { Cluster } from '#cluster/nodes/cluster.ts'
import { randomPorts } from '#cluster/ports.ts'
import { type AcmeHandle, type AcmeOptions, openAcme } from '#domains/acme.ts'
import { NO_AUTHORITY } from '#domains/acme/no-authority.ts'
import { type DnsSide, publicAddresses, startDns } from '#domains/dns.ts'
import { shownZone } from '#domains/shown-zones.ts'
import { openExpiry } from '#domains/expiry/expiry-watch.ts'
import { httpsUrl } from '#domains/shared-domain.ts'
import { combineLive } from '#server/combined-live.ts'
import type { EventsHandle } from '#server/events.ts'
import type { InstallationAccount } from '#server/first-start.ts'
import { dashboardOpenId } from '#server/dashboard-openid.ts'
import { nodeAddresses, nodesPart, type NodesOptions } from '#server/nodes.ts'
import type { RecordSource } from '#server/record-source.ts'
import { Maintenance } from '#server/maintenance.ts'
import { effectiveSettings } from '#server/effective-settings.ts'
import type { ServerMetrics } from '#server/metrics.ts'
import type { UsageRecorder } from '#server/usage/usage-recorder.ts'
import type { Bound } from '#server/status/listeners.ts'
import { statusFor } from '#server/status/status.ts'
import type { UserSessions } from '#server/user-sessions.ts'

interface ControlPlaneOptions extends Pick<Deps, 'store' | 'sealer' | 'now'> {
  readonly settings: Settings
  readonly sources: SettingSourceMap
  readonly log: Log
  readonly account: InstallationAccount
  /** The CA; undefined: no certificates are issued. */
  readonly authority: AcmeOptions['client']
  readonly source: RecordSource
  readonly gateway: GatewayHandle
  readonly events: EventsHandle
  readonly userSessions: UserSessions
  readonly usage: UsageRecorder
  readonly metrics: ServerMetrics
  readonly reload: () => Promise<SettingChanges>
  readonly ready: () => Promise<readonly Degraded[]>
  readonly version: string
  readonly cluster: Cluster | undefined
  readonly sharesPorts: SharesPorts
  /** Where it accepts requests of the gateway; undefined: only at its own address. */
  readonly apiSocket: string | undefined
}

/** The API, the DNS server and the maintenance. */
export interface ControlPlane {
  /** The API address for this machine; undefined when it is off. */
  readonly url: string | undefined
  readonly dns: Pick<DnsSide, 'bound' | 'warnings'>
  /** Starts what only one process may do. */
  startMaintenance(): Promise<void>
  close(): Promise<void>
}

/** Opens the control plane; its maintenance is started later. */
export async function openControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  await using opened = new AsyncDisposableStack()
  const { settings, log, source, gateway, events, metrics, sharesPorts } = options
  const deps = depsOf(options, {
    checkDomain: id => acme.check(id),
    zones: () => [...dns.zones()].map(zone => shownZone(zone, options.account.id)),
  })
  const acme: AcmeHandle = openAcme({ settings, client: options.authority, api: deps, source, log })
  const expiry = openExpiry({ api: deps, source, log })
  const maintenance = new Maintenance({ acme, expiry, pruned: prunedBy(options) })
  const api = createApi({
    ...deps,
    log,
    rateLimit: () => settings.rate_limit,
    usedKey: (key, owner) => options.usage.usedKey(key, owner),
    reload: options.reload,
    // Read only on demand: a running server does not need it.
    licences: async () => (await import('#server/licences.ts')).licences(),
    settings: () => effectiveSettings(settings, options.sources),
    publicUrl: settings.api_url,
    dashboardUrl: settings.api_https
      ? httpsUrl(dashboardHost(settings.domain), settings, gateway.bound.https)
      : undefined,
    proxies: new TrustedProxies(settings),
    ready: options.ready,
    metrics: async () =>
      (await gateway.metrics()) + metrics.text() + dns.metrics() + acme.metrics() + events.metrics(),
    answered: metrics.answered,
    // SQLite is read without waiting for anything, so a commit is applied before the next event.
    applied: () => (settings.database_url === undefined ? undefined : source.applied()),
    dashboard: dashboardLimits(settings),
    openid: dashboardOpenId(settings, log),
    status: call =>
      statusFor(call, { settings, version: options.version, gateway, ready: options.ready, bound }),
  })
  opened.defer(async () => {
    await Promise.all([maintenance.close(), api.close()])
  })
  const dns: DnsSide = opened.adopt(
    await startDns(settings, source, {
      log,
      sharesPorts,
      nodes: options.cluster && nodeAddresses(options.cluster),
    }),
    it => it.close(),
  )
  if (options.apiSocket !== undefined) await api.listenToGateway(options.apiSocket)
  const url = await listen(api, settings, sharesPorts)
  const bound = (): Bound => ({
    ...(url !== undefined && { api: addressIn(url) }),
    ...(dns.bound && { dns: dns.bound }),
  })
  const running = opened.move()
  return {
    url,
    dns,
    startMaintenance: () => maintenance.start(settings.api_url ?? url ?? ''),
    close: () => running.disposeAsync(),
  }
}

interface StartedLater extends Pick<Deps, 'checkDomain'>, Pick<NodesOptions, 'zones'> {}

function depsOf(options: ControlPlaneOptions, { checkDomain, zones }: StartedLater): Deps {
  const { settings, store, sealer, now, account, gateway } = options
  const nodes = nodesPart({
    cluster: options.cluster,
    gateway,
    version: options.version,
    region: settings.region,
    publicAddresses: publicAddresses(settings),
    zones,
  })
  return {
    store,
    sealer,
    now,
    refreshUsage: () => options.usage.refresh(),
    checkDomain,
    live: combineLive(gateway.live, [options.events.live, nodes]),
    info: {
      accountId: account.id,
      accountCreatedAt: account.createdAt,
      domain: settings.domain,
      region: settings.region,
      // One sign-in callback serves all endpoints, so an identity provider needs only one URL.
      signInUrl: httpsUrl(`idp.${settings.domain}`, settings, gateway.bound.https),
      tcpPorts: settings.tcp_ports,
      randomTcpPorts: randomPorts(settings),
      fullCapture: settings.traffic_full_capture,
      ...(options.authority === undefined && { notIssuing: NO_AUTHORITY }),
    },
  }
}

const dashboardLimits = ({
  dashboard_idle: minutes,
  dashboard_lifetime: hours,
}: Settings): SessionLimits => ({
  idleMs: minutes * 60_000,
  lifetimeMs: hours * 3_600_000,
})

const prunedBy = ({ store, userSessions, settings, events, cluster, log, now }: ControlPlaneOptions) => ({
  store,
  sessions: {
    async prune() {
      await userSessions.prune()
      await pruneSessions({ store, now, limits: dashboardLimits(settings) })
      await prunePasswords(store)
      await pruneChallenges(store, now)
    },
  },
  auditDays: settings.audit_days,
  delivered: () => events.needed(),
  isTurn: () => cluster?.membership.isFirst ?? true,
  log,
  now,
})

function addressIn(url: string): AddressSetting {
  const { hostname, port } = new URL(url)
  return { host: hostname.replace(/^\[|\]$/g, ''), port: port === '' ? 80 : Number(port) }
}

async function listen(
  api: HttpServer,
  { api_addr: address }: Settings,
  sharesPorts: SharesPorts,
): Promise<string | undefined> {
  if (address === undefined) return undefined
  try {
    return await api.listen(address, sharesPorts)
  } catch (error) {
    throw cannotListen(error, address, 'ADIT_API_ADDR')
  }
}
