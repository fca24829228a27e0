import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:tls'
import { systemDns } from '#acme/dns.ts'
import { DOMAINS } from '#api/behaviours/edges.ts'
import { machineAddresses } from '#base/machine-addresses.ts'
import type { AddressSetting } from '#base/setting-values.ts'
import type { Settings } from '#base/settings.ts'
import { reservedDomain } from '#contract/kinds/reserved-domain.ts'
import { tlsCertificate } from '#contract/kinds/tls-certificate.ts'
import type { Stored } from '#contract/shape.ts'
import { domainAdvice, isLocalName, publicDomain } from '#domains/domain-advice.ts'
import { watchDomain, type CertificateState, type Site, type Watching } from '#domains/domain-watch.ts'
import { hostHere } from '#base/listen-on.ts'
import type { Store } from '#store/store.ts'

interface SharedDomainParts {
  readonly settings: Settings
  readonly store: Store
  /** The HTTPS listener for clients. */
  readonly https: AddressSetting | undefined
  readonly dns: AddressSetting | undefined
}

interface SharedDomain {
  /** What to set in DNS, for people; empty where nothing is needed. */
  readonly advice: readonly string[]
  /** Reports progress until the domain is served; returns at once if that is impossible. */
  watch(options: Watching): Promise<void>
}

const HANDSHAKE_MS = 5000
const MAX_TEXT = 600

/** Messages about the shared domain for the operator. */
export function sharedDomain(parts: SharedDomainParts): SharedDomain {
  const { settings, dns } = parts
  const target = publicDomain({ settings, dns, machine: machineAddresses() })
  return {
    advice: domainAdvice(target),
    async watch(options) {
      if (isLocalName(target.domain) || target.missing.length > 0) return
      await watchDomain(target, systemDns(settings.acme_dns), siteOf(parts), options)
    },
  }
}

/** The public HTTPS URL of a host. */
export function httpsUrl(
  host: string,
  { public_https_port: mapped }: Settings,
  https?: AddressSetting,
): string {
  const port = mapped ?? https?.port ?? 443
  return `https://${host}${port === 443 ? '' : `:${port}`}`
}

function siteOf({ settings, store, https }: SharedDomainParts): Site {
  const { domain } = settings
  const url = httpsUrl(domain, settings, https)
  const local = `${url} is served with a certificate of the local CA, whose root is ca.pem`
  const absent =
    settings.acme_directory === undefined
      ? `No certificate is ordered, because ADIT_ACME_DIRECTORY is off: ${local}.`
      : `No certificate is ordered for ${domain}: ${local}.`
  return {
    url,
    async certificate() {
      if (https === undefined) return { is: 'never', why: `HTTPS is off (ADIT_HTTPS_ADDR).` }
      const standing = await certificateOf(domain, store)
      const cannotBeOrdered = standing?.is === 'waiting' && settings.acme_directory === undefined
      return standing === undefined || cannotBeOrdered ? { is: 'never', why: absent } : standing
    },
    shown: async () => (https === undefined ? undefined : shownAt(https, domain)),
  }
}

/** The certificate state of a reserved name; undefined if none is expected. */
export async function certificateOf(domain: string, store: Store): Promise<CertificateState | undefined> {
  const row = await store.holder({ namespace: DOMAINS, value: domain })
  if (row?.kind !== reservedDomain.name) return undefined
  const {
    certificate,
    certificate_management_policy: policy,
    ...body
  } = JSON.parse(row.body) as Stored<typeof reservedDomain.shape>
  if (certificate !== null) return thereOf(certificate, store)
  if (policy === null) return undefined
  const job = body.certificate_management_status?.provisioning_job
  if (!job) return { is: 'waiting', text: 'about to be ordered.' }
  const { error_code: error, msg, retries_at: next } = job
  const text = sentence(error === null ? msg.replace(/^The certificate is /, '') : msg)
  if (next === null) return { is: 'waiting', text }
  return {
    is: 'waiting',
    text: `${text} Next attempt at ${next}.`,
    ...(error === 'DNS_ERROR' && { looksAt: next }),
  }
}

async function thereOf(id: string, store: Store): Promise<CertificateState | undefined> {
  const row = await store.get(id)
  if (row?.kind !== tlsCertificate.name) return undefined
  const { certificate_pem: pem } = JSON.parse(row.body) as Stored<typeof tlsCertificate.shape>
  const { issuer, validToDate, fingerprint256 } = new X509Certificate(pem)
  const [, by] = /^(?:CN|O)=(.+)$/m.exec(issuer) ?? []
  const until = validToDate.toISOString().slice(0, 10)
  const text = `issued${by === undefined ? '' : ` by ${plain(by)}`}, valid until ${until}.`
  return { is: 'there', text, fingerprint: fingerprint256 }
}

/** External text, and a terminal interprets control characters. */
const plain = (text: string): string =>
  text
    .slice(0, MAX_TEXT)
    .replaceAll(/[\s\p{Cc}]+/gu, ' ')
    .trim()

const sentence = (text: string): string => plain(text).replace(/\.?$/, '.')

/** The fingerprint of the served certificate, from our own listener. */
async function shownAt(https: AddressSetting, servername: string): Promise<string | undefined> {
  const socket = connect({
    host: hostHere(https),
    port: https.port,
    servername,
    // It is compared with the issued one, from any CA.
    rejectUnauthorized: false,
  })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(HANDSHAKE_MS) })
    return socket.getPeerX509Certificate()?.fingerprint256
  } finally {
    socket.destroy()
  }
}
