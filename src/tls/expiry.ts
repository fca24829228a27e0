import { agentIngress } from '#contract/kinds/agent-ingress.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import { guarded } from '#base/background.ts'
import type { Log } from '#base/log.ts'
import { isExpiring } from '#pki/expiring.ts'
import type { GatewayInfo } from '#registry/gateway-info.ts'
import type { GatewayMetrics } from '#telemetry/metrics.ts'
import { textOf } from '#registry/records/keys.ts'
import type { Records } from '#registry/records/records.ts'

interface CertificateExpiryOptions {
  readonly records: Pick<Records, 'all' | 'get'>
  /** Expiry of the default certificate. */
  readonly defaultEnd: () => number
  readonly log: Log
  readonly now?: () => number
}

/** The expiry of all served certificates. */
interface Survey {
  /** Milliseconds since 1970. */
  readonly earliest: number
  /** One name of each. */
  readonly expiring: readonly string[]
  readonly expired: readonly string[]
}

const DAY = 86_400_000
const MAX_NAMED = 20

/** Reports certificates that expire soon. */
export class Expiry {
  readonly #options: CertificateExpiryOptions
  readonly #now: () => number

  constructor(options: CertificateExpiryOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  survey(): Survey {
    const { records, defaultEnd } = this.#options
    const now = this.#now()
    let earliest = defaultEnd()
    const expiring: string[] = []
    const expired: string[] = []
    const seen = new Set<string>()
    for (const domain of [...records.all(reservedDomain), ...records.all(agentIngress)]) {
      const id = textOf(domain, 'certificate')
      const row = id === '' || seen.has(id) ? undefined : records.get(tlsCertificate, id)
      if (row === undefined) continue
      seen.add(id)
      const end = Date.parse(textOf(row, 'not_after'))
      if (Number.isNaN(end)) continue
      earliest = Math.min(earliest, end)
      if (end <= now) expired.push(textOf(domain, 'domain'))
      else if (isExpiring(Date.parse(textOf(row, 'not_before')), end, now))
        expiring.push(textOf(domain, 'domain'))
    }
    return { earliest, expiring, expired }
  }

  /** Logs it. */
  logState(): void {
    const { log } = this.#options
    const { expiring, expired } = this.survey()
    const shown = (names: readonly string[]) => ({ count: names.length, names: names.slice(0, MAX_NAMED) })
    if (expiring.length > 0) log.warn(shown(expiring), 'certificates expire soon')
    if (expired.length > 0) log.error(shown(expired), 'certificates have expired, and clients reject them')
  }
}

/** Exports metrics, and logs now and once a day; returns how to stop. */
export function watchExpiry(
  { certificates: gauges }: GatewayMetrics,
  { info, ...options }: CertificateExpiryOptions & { readonly info: GatewayInfo },
): () => void {
  const expiry = new Expiry(options)
  gauges.earliestEnd.from(() => Math.floor(expiry.survey().earliest / 1000))
  gauges.expiring.from(() => expiry.survey().expiring.length)
  gauges.expired.from(() => expiry.survey().expired.length)
  // All processes have the same data; only the first one logs.
  if (info.workers > 1 && info.node !== 'w1') return () => undefined
  const logState = (): void => guarded({ task: 'expiry', log: options.log }, () => expiry.logState())
  logState()
  const timer = setInterval(logState, DAY).unref()
  return () => clearInterval(timer)
}
