import { readFileSync } from 'node:fs'
import type { ChallengeType } from '#acme/answers.ts'
import { AcmeClient } from '#acme/client.ts'
import type { DnsCheckOptions } from '#acme/dns-check.ts'
import { singleResolvers, systemDns } from '#acme/dns.ts'
import { Issuer, type IssuerOptions } from '#acme/issuer.ts'
import { defaultAcmeTimings, type AcmeTimings } from '#acme/timings.ts'
import type { Call, Deps } from '#api/call.ts'
import { inBackground } from '#base/background.ts'
import { createEgress } from '#base/egress-client.ts'
import type { Egress } from '#base/egress.ts'
import type { Log } from '#base/log.ts'
import { isLoopback } from '#base/machine-addresses.ts'
import { renderMetrics } from '#base/metrics-text.ts'
import { Registry } from '#base/metrics.ts'
import { isPublicName } from '#base/public-suffix.ts'
import type { Settings } from '#base/settings.ts'
import type { Source } from '#registry/records/source.ts'
import { readPem } from '#pki/pem.ts'
import { reportNoAuthority } from '#domains/acme/no-authority.ts'
import { reserveOwnDomain } from '#domains/acme/own-domain.ts'
import type { DomainEnvironment } from '#domains/acme/proving.ts'
import { ReservedDomains } from '#domains/acme/reserved-domains.ts'
import { followRotation } from '#domains/acme/rotation.ts'
import { DomainChecks } from '#domains/check/domain-checks.ts'
import type { CheckedDomain } from '#contract/domain-check.ts'
import { nameServerAddresses, publicAddresses } from '#domains/dns.ts'
import { isLocalName } from '#domains/domain-advice.ts'
import { keepStarting } from '#base/keep-starting.ts'
import { systemCall } from '#api/system-call.ts'
import { StartError } from '#base/start-error.ts'

export interface AcmeOptions {
  readonly settings: Settings
  /** Undefined: no certificates are issued. */
  readonly client: AcmeClient | undefined
  readonly api: Deps
  readonly source: Source
  readonly log: Log
  readonly timings?: Partial<AcmeTimings>
}

export interface AcmeHandle {
  /** Called when the listeners are open: CAs connect for validation. `base` is the API URL in events. */
  start(base: string): Promise<void>
  /** Looks up the DNS of a reserved domain, and orders its certificate if that only waited for DNS. */
  check(id: string): Promise<CheckedDomain>
  /** In the Prometheus format. */
  metrics(): string
  close(): Promise<void>
}

/** SQLite is used by this machine only, and its gateways get a challenge at once. */
const SETTLE_LOCAL_MS = 500
const TIDY_MS = 3_600_000

/** The CA of the settings; no request is sent yet. */
export function openAuthority(settings: Settings): AcmeClient | undefined {
  const { acme_directory: directory } = settings
  return directory === undefined
    ? undefined
    : new AcmeClient({ directory, egress: egressToAuthority(settings) })
}

/** Connects to the authority, which may have a root of its own and a private address. */
export const egressToAuthority = ({ acme_ca_file: file, egress_allow: allow = [] }: Settings): Egress =>
  createEgress({ allow, ca: file === undefined ? [] : [roots(file)] })

function roots(file: string): string {
  try {
    const pem = readFileSync(file, 'utf8')
    readPem(pem)
    return pem
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new StartError(`ADIT_ACME_CA_FILE: ${file} cannot be used: ${reason}`)
  }
}

/** Issues certificates for reserved domains, once it is started. */
export function openAcme(options: AcmeOptions): AcmeHandle {
  const registry = new Registry()
  const results = registry.counters('adit_acme_orders_total', 'Certificate orders.', ['result'])
  const counters = { issued: results.with('issued'), failed: results.with('failed') }
  const { client } = options
  let stop = async (): Promise<void> => undefined
  let issuer: Issuer | undefined
  const environment = environmentOf(options.settings)
  const checks = new DomainChecks({
    store: options.api.store,
    environment,
    dnsCheck: dnsCheckOf(options.settings, environment),
    resolvers: singleResolvers(options.settings.acme_dns),
    expedite: async id => issuer?.expedite(id),
    now: options.api.now,
  })
  return {
    check: id => checks.check(id),
    async start(base) {
      const call = systemCall(options.api, base)
      const { log } = options
      const failed = 'certificate management cannot start yet'
      stop = await keepStarting({ task: 'acme', log, failed }, () =>
        client === undefined
          ? startWithout(options, call)
          : start({
              ...options,
              client,
              call,
              onResult: result => counters[result].add(),
              onIssuer: made => (issuer = made),
            }),
      )
    },
    metrics: () => renderMetrics(registry.snapshot()),
    close: () => stop(),
  }
}

interface Start extends AcmeOptions, Pick<IssuerOptions, 'onResult'> {
  readonly client: AcmeClient
  readonly call: Call
  readonly onIssuer: (issuer: Issuer) => void
}

/** No certificates are issued, and waiting domains report it. */
function startWithout({ settings, source, log }: AcmeOptions, call: Call): Promise<() => Promise<void>> {
  const environment = environmentOf(settings)
  const domains = new ReservedDomains({ call, source, log, environment })
  return reportNoAuthority({ domains, isSoleServer: environment.isSoleServer, log, now: call.now })
}

function environmentOf(settings: Settings): DomainEnvironment {
  const { domain, public_addresses: given, dns_addr: dns, database_url: database } = settings
  // A loopback listener is not an address for DNS, unless configured.
  const addresses = given ?? publicAddresses(settings).filter(address => !isLoopback(address))
  return {
    domain,
    addresses,
    nameServerIps: nameServerAddresses(dns, addresses),
    servesDns: dns !== undefined,
    isSoleServer: database === undefined,
  }
}

const dnsCheckOf = (settings: Settings, { addresses }: DomainEnvironment): DnsCheckOptions => ({
  dns: systemDns(settings.acme_dns),
  addresses,
})

/** Private names are ordered if the operator serves DNS for them. */
const isOrdered = ({ domain, servesDns }: DomainEnvironment): boolean =>
  !isLocalName(domain) && (servesDns || isPublicName(domain))

async function start(options: Start): Promise<() => Promise<void>> {
  const { settings, client, call, source, log, onResult } = options
  const { store, sealer, now } = call
  const environment = environmentOf(settings)
  if (isOrdered(environment)) await reserveOwnDomain(call, environment)
  const domains = new ReservedDomains({ call, source, log, environment })
  const issuer = new Issuer({
    store,
    sealer,
    client,
    domains,
    dnsCheck: dnsCheckOf(settings, environment),
    email: settings.acme_email,
    challengeTypes: challengeTypes(settings),
    log,
    timings: {
      settleMs: settings.database_url ? defaultAcmeTimings.settleMs : SETTLE_LOCAL_MS,
      ...options.timings,
    },
    onResult,
    now,
  })
  await issuer.start()
  options.onIssuer(issuer)
  const stopTidying = tidy(domains, log)
  const stopFollowing = followRotation(settings.data_dir, () => issuer.changeAccountKey(), log)
  return async () => {
    stopTidying()
    stopFollowing()
    await issuer.close()
  }
}

/** The challenge types with which a CA can validate a name. */
function challengeTypes({ http_addr: http, https_addr: https }: Settings): ChallengeType[] {
  const byHttp: ChallengeType[] = http === undefined ? [] : ['http-01']
  return https === undefined ? byHttp : [...byHttp, 'tls-alpn-01']
}

function tidy(domains: ReservedDomains, log: Log): () => void {
  const failed = 'unused certificates could not be removed'
  const sweep = () => void inBackground({ task: 'acme', log, failed }, () => domains.sweep())
  sweep()
  const timer = setInterval(sweep, TIDY_MS).unref()
  return () => clearInterval(timer)
}
