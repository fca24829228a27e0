import { fail } from '#base/errors.ts'
import { readModule } from '#base/read-module.ts'
import type { TlsConfig } from '#tls/contexts.ts'
import { PkiError } from '#pki/pki-error.ts'
import { readPem, writePem } from '#pki/pem.ts'
import { readAuthority } from '#pki/x509.ts'
import { object, text } from '#base/json-fields.ts'
import type { BindOptions } from '#tunnel/messages.ts'

type Option = 'MutualTLSCA' | 'MutualTLSAtEdge'

const MAX_AUTHORITIES = 10
const shape = object({ mutual_tls_ca: text(98_304) })

/** The PEM CAs that an agent requires for client certificates; undefined when it requires none. */
export function agentAuthorities(options: BindOptions): string | undefined {
  const { MutualTLSCA, MutualTLSAtEdge, TLSTermination } = options
  if (MutualTLSCA !== null && MutualTLSAtEdge !== null)
    refuse('MutualTLSAtEdge', 'MutualTLSCA is set too, and only one of them can apply')
  if (MutualTLSCA !== null) return authoritiesIn('MutualTLSCA', options)
  if (MutualTLSAtEdge === null) return undefined
  if (TLSTermination === null)
    refuse('MutualTLSAtEdge', 'it needs TLS termination at the gateway: set TLSTermination too')
  return authoritiesIn('MutualTLSAtEdge', options)
}

/**
 * The TLS requirements of a tunnel: those of its endpoint configuration, and the CAs of its agent. An agent cannot
 * replace the CAs of the configuration. `scope` is the tunnel.
 */
export function tunnelTlsConfig(configured: TlsConfig, options: BindOptions, scope: string): TlsConfig {
  const authorities = agentAuthorities(options)
  if (authorities === undefined) return configured
  if (configured.clients !== undefined && configured.clients.authorities !== authorities)
    fail('module_unusable', {
      module: 'mutual_tls',
      reason: 'the agent has other CAs than the endpoint configuration',
    })
  return { ...configured, clients: { authorities, scope } }
}

function authoritiesIn(option: Option, options: BindOptions): string {
  const { mutual_tls_ca } = readModule(option, shape, options[option] ?? {})
  try {
    const blocks = readPem(Buffer.from(mutual_tls_ca, 'base64').toString())
    if (blocks.length > MAX_AUTHORITIES) refuse(option, `it has more than ${MAX_AUTHORITIES} certificates`)
    return blocks.map(block => readAuthority(writePem(block)).certificatePem).join('')
  } catch (error) {
    if (!(error instanceof PkiError)) throw error
    return refuse(option, error.message.replace(/\.$/, ''))
  }
}

const refuse = (option: Option, reason: string): never => fail('bind_option', { option, reason })
