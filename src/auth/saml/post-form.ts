import { createHash } from 'node:crypto'
import { fail } from '#base/errors.ts'
import type { Reply } from '#http/exchange.ts'
import { bodyOf } from '#http/body.ts'
import { Fields } from '#http/fields.ts'
import { escapeHtml } from '#http/pages/html.ts'
import { authnRequest } from '#auth/saml/messages.ts'
import type { SamlServiceProvider } from '#auth/saml/service-provider.ts'
import { type OutgoingMessage, signedXml } from '#auth/saml/sign.ts'
import type { Seal } from '#auth/sign-in/seal.ts'

const SCRIPT = 'document.forms[0].submit()'
const scriptHash = createHash('sha256').update(SCRIPT).digest('base64')

/** The only script is ours. form-action is not limited: browsers would also apply it to the provider's redirects. */
const POLICY = `default-src 'none'; script-src 'sha256-${scriptHash}'; base-uri 'none'; frame-ancestors 'none'`

/** Sends a message through the browser to a provider that accepts only forms. */
export function formReply({ xml, id, url, kind, relayState, keyPem }: OutgoingMessage): Reply {
  const message = Buffer.from(signedXml(xml, id, keyPem)).toString('base64')
  const field = (name: string, value: string): string =>
    `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="robots" content="noindex"><title>Signing in</title></head>
<body>
<form method="post" action="${escapeHtml(url)}">
${field(kind, message)}
${relayState === undefined ? '' : field('RelayState', relayState)}
<noscript><button>Continue</button></noscript>
</form>
<script>${SCRIPT}</script>
</body>
</html>
`
  return pageReply(html, 'text/html; charset=utf-8', `Content-Security-Policy: ${POLICY}\r\n`)
}

export function pageReply(text: string, type: string, extra = ''): Reply {
  const body = bodyOf(Buffer.from(text))
  const fields = new Fields(
    `Content-Type: ${type}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n` +
      `X-Content-Type-Options: nosniff\r\n${extra}`,
  )
  return { head: { status: 200, reason: 'OK', fields, framing: body.framing }, body }
}

interface FormRequest {
  readonly id: string
  readonly force: boolean
  readonly state: string
}

const FORM_MS = 60_000
const purpose = (realmId: string): string => `saml request ${realmId}`

/** A page of ours that forwards the request: a redirect cannot carry a form. */
export const formUrl = (seal: Seal, service: SamlServiceProvider, form: FormRequest): string =>
  `${service.entityId}/sso?request=${seal.seal(purpose(service.id), form, FORM_MS)}`

/** The page at that address. */
export function requestFormReply(
  seal: Seal,
  service: SamlServiceProvider,
  request: string,
  now: number,
): Reply {
  const form = seal.open(purpose(service.id), request) as FormRequest | undefined
  if (form === undefined) return fail('saml_late')
  const { id, force, state } = form
  return formReply({
    xml: authnRequest(service, { id, force, now }),
    id,
    url: service.provider.signIn.url,
    kind: 'SAMLRequest',
    relayState: state,
    keyPem: service.settings.request_signing_key_pem,
  })
}
