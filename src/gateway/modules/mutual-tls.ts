import type { Handler } from '#http/exchange.ts'
import type { ClientCertificate } from '#http/client-certificate.ts'
import { Fields } from '#http/fields.ts'
import { withHead } from '#http/changed.ts'
import type { HttpModule } from '#gateway/modules/module.ts'
import type { ModuleContext } from '#http/module-context.ts'
import { errorReply } from '#http/pages.ts'
import { agentAuthorities } from '#tls/agent-authorities.ts'

/** Services written for the hosted service expect its spelling of the names. */
const PREFIXES = ['Adit-Mtls-', 'Ngrok-Mtls-']
/** Frameworks turn field names into variables, so that other characters become equal to a hyphen. */
const CLAIM = /^(?:adit|ngrok)[^a-z0-9:]mtls[^a-z0-9:]/i
const CLAIMS = new RegExp(CLAIM, 'im')
/** Certificates stay the same for a connection, and so do the lines. */
const lines = new WeakMap<ClientCertificate, string>()

/**
 * Sends the client's identity to the service. A client without a valid certificate is rejected in the handshake; a
 * request on an older connection, or one without a server name, is rejected here.
 */
function mutualTlsAt({ id, edgeId }: ModuleContext): Handler {
  const scope = edgeId ?? id
  return async (exchange, next) => {
    const { head, client } = exchange
    if (client.certificate?.scope !== scope) return errorReply('certificate_required', head)
    const kept = withoutClaims(head.fields)
    return next(withHead(exchange, { fields: new Fields(kept.text + linesOf(client.certificate)) }))
  }
}

/** Certificate headers sent by clients are ignored. */
function withoutClaims(fields: Fields): Fields {
  if (!CLAIMS.test(fields.text)) return fields
  const kept = [...fields.entries()].filter(([name]) => !CLAIM.test(name))
  return new Fields(kept.map(([name, value]) => `${name}: ${value}\r\n`).join(''))
}

function linesOf(certificate: ClientCertificate): string {
  const known = lines.get(certificate)
  if (known !== undefined) return known
  const { commonName, dnsNames, emails, serialNumber } = certificate
  const values = [
    ['Subject-Cn', escaped(commonName)],
    ['Subject-Alt-Name-Dns', dnsNames.map(listed).join(',')],
    ['Email-Addresses', emails.map(listed).join(',')],
    ['Serial-Number', serialNumber],
  ].filter(([, value]) => value !== '')
  const text = PREFIXES.flatMap(prefix => values.map(([name, value]) => `${prefix}${name}: ${value}\r\n`))
  lines.set(certificate, text.join(''))
  return text.join('')
}

/** Nothing is dropped or replaced: two clients must never look the same to a service that identifies them by name. */
const escaped = (text: string): string => text.replaceAll(/[^\x20-\x7e]|%|^ | $/gu, percent)
const listed = (text: string): string => text.replaceAll(/[^\x21-\x7e]|[%,]/gu, percent)

const percent = (character: string): string =>
  Buffer.from(character).toString('hex').toUpperCase().replaceAll(/../g, '%$&')

export const mutualTlsModule: HttpModule = {
  name: 'mutual_tls',
  fromRecord: (_, moduleContext) => mutualTlsAt(moduleContext),
  fromAgent: {
    options: ['MutualTLSCA'],
    build: (given, moduleContext) => {
      // The handshake uses them; this only checks that they are valid.
      agentAuthorities(given)
      return mutualTlsAt(moduleContext)
    },
  },
}
