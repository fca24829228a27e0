import { list, secretLine, share, text, yesNo } from '#cli/agent/forms.ts'
import { named, option, web } from '#cli/agent/tunnel-option.ts'

const emailList = list('address', 'a list of e-mail addresses', item => /^[^@\s]+@[^@\s]+$/.test(item))
const domainList = list('domain', 'a list of domains')
const scopeList = list('scope', 'a list of scopes')
const patterns = list('regex', 'a list of regular expressions')

/** Options of tunnels that the gateway's modules carry out. */
export const moduleOptions = {
  compression: option({
    form: yesNo,
    doc: 'Compress answers for visitors that accept it.',
    kinds: web,
    to: compression => ({ compression }),
  }),
  circuit_breaker: option({
    form: share,
    doc: 'Share of failed requests, from 0 to 1, at which the service is left alone for a while.',
    kinds: web,
    to: circuitBreaker => ({ circuitBreaker }),
  }),
  'oauth.provider': option({
    form: text('provider', 'a provider such as google'),
    doc: 'Visitors sign in at this provider, such as google or github.',
    kinds: web,
    flag: '--oauth',
    to: provider => ({ oauth: { provider } }),
  }),
  'oauth.allow_emails': option({
    form: emailList,
    doc: 'Allow only these users to sign in. Repeatable.',
    kinds: web,
    flag: '--oauth-allow-email',
    to: allowEmails => ({ oauth: { allowEmails } }),
  }),
  'oauth.allow_domains': option({
    form: domainList,
    doc: 'The same for all addresses of a domain. Repeatable.',
    kinds: web,
    flag: '--oauth-allow-domain',
    to: allowDomains => ({ oauth: { allowDomains } }),
  }),
  'oauth.scopes': option({
    form: scopeList,
    doc: 'Scope to ask for, with an application of your own. Repeatable.',
    kinds: web,
    flag: '--oauth-scope',
    to: scopes => ({ oauth: { scopes } }),
  }),
  'oauth.client_id': option({
    form: text('id'),
    doc: "Your own application at the provider; the gateway's when absent.",
    kinds: web,
    flag: '--oauth-client-id',
    to: clientId => ({ oauth: { clientId } }),
  }),
  'oauth.client_secret': option({
    form: secretLine,
    doc: 'File with its secret.',
    kinds: web,
    flag: '--oauth-client-secret-file',
    secret: true,
    variable: {
      name: 'ADIT_OAUTH_CLIENT_SECRET',
      missingFrom: ({ oauth }) => oauth?.clientId !== undefined && oauth.clientSecret === undefined,
    },
    to: clientSecret => ({ oauth: { clientSecret } }),
  }),
  'oidc.issuer_url': option({
    form: text('url', 'an address such as https://login.example.com'),
    doc: 'Visitors sign in at this OpenID provider.',
    kinds: web,
    flag: '--oidc',
    to: issuerUrl => ({ oidc: { issuerUrl } }),
  }),
  'oidc.client_id': option({
    form: text('id'),
    doc: 'Your application there.',
    kinds: web,
    flag: '--oidc-client-id',
    to: clientId => ({ oidc: { clientId } }),
  }),
  'oidc.client_secret': option({
    form: secretLine,
    doc: 'File with its secret.',
    kinds: web,
    flag: '--oidc-client-secret-file',
    secret: true,
    variable: {
      name: 'ADIT_OIDC_CLIENT_SECRET',
      missingFrom: ({ oidc }) => oidc !== undefined && oidc.clientSecret === undefined,
    },
    to: clientSecret => ({ oidc: { clientSecret } }),
  }),
  'oidc.scopes': option({
    form: scopeList,
    doc: 'Scope to ask for. Repeatable.',
    kinds: web,
    flag: '--oidc-scope',
    to: scopes => ({ oidc: { scopes } }),
  }),
  'oidc.allow_emails': option({
    form: emailList,
    doc: 'Allow only these users to sign in. Repeatable.',
    kinds: web,
    flag: '--oidc-allow-email',
    to: allowEmails => ({ oidc: { allowEmails } }),
  }),
  'oidc.allow_domains': option({
    form: domainList,
    doc: 'The same for all addresses of a domain. Repeatable.',
    kinds: web,
    flag: '--oidc-allow-domain',
    to: allowDomains => ({ oidc: { allowDomains } }),
  }),
  'verify_webhook.provider': option({
    form: text('sender', 'a sender such as github'),
    doc: 'Only webhooks that this sender signed come in, such as github or stripe.',
    kinds: web,
    flag: '--verify-webhook',
    to: provider => ({ verifyWebhook: { provider } }),
  }),
  'verify_webhook.secret': option({
    form: secretLine,
    doc: 'File with the secret that it signs with.',
    kinds: web,
    flag: '--verify-webhook-secret-file',
    secret: true,
    variable: {
      name: 'ADIT_VERIFY_WEBHOOK_SECRET',
      missingFrom: ({ verifyWebhook }) => verifyWebhook !== undefined && verifyWebhook.secret === undefined,
    },
    to: secret => ({ verifyWebhook: { secret } }),
  }),
  'user_agent_filter.allow': option({
    form: patterns,
    doc: 'Programs whose User-Agent matches come in, whatever is denied. Repeatable.',
    kinds: web,
    flag: '--ua-allow',
    aliases: ['--ua-filter-allow'],
    to: allow => ({ userAgentFilter: { allow } }),
  }),
  'user_agent_filter.deny': option({
    form: patterns,
    doc: 'Programs whose User-Agent matches do not come in. Repeatable.',
    kinds: web,
    flag: '--ua-deny',
    aliases: ['--ua-filter-deny'],
    to: deny => ({ userAgentFilter: { deny } }),
  }),
  mutual_tls_cas: option({
    form: text('file', 'the path of a file'),
    doc: 'Visitors must have a certificate of one of the authorities in this file.',
    kinds: named,
    flag: '--mutual-tls-ca',
    aliases: ['--mutual-tls-cas'],
    to: mutualTlsCas => ({ mutualTlsCas }),
  }),
  websocket_tcp_converter: option({
    form: yesNo,
    doc: 'Visitors come by WebSocket, and the service gets what is in their messages.',
    kinds: web,
    to: websocketTcpConverter => ({ websocketTcpConverter }),
  }),
}
